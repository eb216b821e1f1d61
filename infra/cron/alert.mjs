#!/usr/bin/env node
/**
 * Posts an alert of refresh.sh to a webhook: its argument is the exit code, its input the run's last lines. IVM_WEBHOOK
 * is the address, which gets `{"text": …}`, as Slack, Mattermost and others take it.
 */
import { hostname } from "node:os";
import { text } from "node:stream/consumers";

const [code] = process.argv.slice(2);
const address = process.env.IVM_WEBHOOK;
if (code === undefined || address === undefined) {
  console.error("usage: IVM_WEBHOOK=https://… alert.mjs EXIT_CODE <LINES");
  process.exit(2);
}
const lines = await text(process.stdin);
const answer = await fetch(address, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ text: `ducklake-ivm on ${hostname()} ended with exit code ${code}\n${lines}` }),
  signal: AbortSignal.timeout(10_000),
});
if (!answer.ok) {
  console.error(`the webhook answered ${answer.status}`);
  process.exit(1);
}
