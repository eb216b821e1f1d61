/** What `explain` says to write differently is kept by a rule once it is written so. */
import { expect, test } from "vitest";
import { REMEDIES } from "../../src/plan/remedies.js";
import { OpenLake } from "../setup/open-lake.js";
import { REWRITES, TABLES, WITHOUT_PAIR } from "./rewrites.js";

test("a view that is written as the advice says has that advice no more", { timeout: 300_000 }, async () => {
  await using opened = await OpenLake.start();
  const { lake } = opened;
  for (const statement of TABLES) await opened.rows(statement);
  const beside = Object.assign({}, ...REWRITES.map((rewrite) => rewrite.beside ?? {})) as Record<string, string>;
  await lake.define([
    ...Object.entries(beside).map(([name, sql]) => ({ name, sql })),
    ...REWRITES.flatMap(({ before, after }, index) => [
      { name: `before_${index}`, sql: before },
      { name: `after_${index}`, sql: after },
    ]),
  ]);
  const codesOf = async (view: string): Promise<readonly string[]> =>
    (await lake.explain(view)).advice.map(({ code }) => code);
  for (const [index, { code, before, after }] of REWRITES.entries()) {
    expect(await codesOf(`before_${index}`), before).toContain(code);
    const { advice, strategy } = await lake.explain(`after_${index}`);
    expect(
      advice.map((one) => one.code),
      after,
    ).not.toContain(code);
    expect(strategy, after).toBe("incremental");
  }
  // The views that the advice split off are kept by rules themselves.
  for (const view of Object.keys(beside)) expect(await codesOf(view), view).toEqual([]);
});

test("each rewrite that is advised has a pair, or a reason to have none", () => {
  const covered = [...new Set(REWRITES.map(({ code }) => code)), ...Object.keys(WITHOUT_PAIR)];
  expect(covered.toSorted()).toEqual(Object.keys(REMEDIES).toSorted());
});
