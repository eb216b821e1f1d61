/**
 * What the commands print, word for word, beside files in golden/. After a change that is meant to be, write them anew
 * and read the difference: `npx vitest run --project unit test/cli/golden.test.ts --update`.
 */
import { rename } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createProgram } from "../../src/cli/program.js";
import { command } from "./command.js";
import { CONFIG, ORDERS, project, sql, VIEWS } from "./lake.js";
import { normaliseJson, normaliseText } from "./normalise.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 600_000 });

// Which of both strategies is cheaper depends on the machine, so the views say it.
const FILES = {
  "ducklake-ivm.yaml": `${CONFIG}log:\n  path: logs\n`,
  "views/spent.sql": VIEWS["views/spent.sql"].replace("primary_key: name", "primary_key: name\nrefresh: incremental"),
  "views/big_spenders.sql": `/* --- refresh: incremental --- */\n${VIEWS["views/big_spenders.sql"]}`,
  "views/typical.sql":
    "/* ---\nrefresh: incremental\ntags: [daily]\n--- */\nSELECT median(amount) AS amount FROM orders",
  "views/ranked.sql": "/* --- refresh: full --- */\nSELECT id, amount FROM orders",
};

const golden = (name: string): string => `golden/${name}.txt`;

describe("help", () => {
  const program = createProgram({ run: async () => undefined });
  const all = (above: Command): Command[] => [above, ...above.commands.flatMap(all)];
  const nameOf = (one: Command): string =>
    one.parent === null ? "" : [nameOf(one.parent), one.name()].filter((name) => name !== "").join(" ");

  it.each(all(program).map((one) => [nameOf(one), one] as const))("of %j", async (name, one) => {
    let help = "";
    one.configureOutput({
      writeOut: (text) => (help += text),
      getOutHelpWidth: () => 100,
      getOutHasColors: () => false,
    });
    one.outputHelp();
    await expect(help).toMatchFileSnapshot(golden(`help/${name.replaceAll(" ", "-") || "program"}`));
  });
});

describe("output", () => {
  const transcripts = new Map<string, string[]>();
  let cwd = "";

  /** Runs a command and keeps what it printed, under its own name. */
  async function run(words: readonly string[], name = words[0] ?? ""): Promise<void> {
    const { exitCode, stdout, stderr } = await command(words, { cwd });
    const isJson = words.includes("json") && !words.includes("--format");
    const lines = stdout.split("\n").filter((line) => line !== "");
    const told = isJson ? lines.map((line) => normaliseJson(line, cwd)).join("\n") : normaliseText(stdout, cwd);
    const parts = [
      `$ ducklake-ivm ${words.map((word) => (/^[\w./:=-]+$/.test(word) ? word : `'${word}'`)).join(" ")}`,
      ...(told === "" ? [] : [told]),
      ...(stderr === "" ? [] : ["[stderr]", normaliseText(stderr, cwd)]),
      `[exit code ${exitCode}]`,
    ];
    transcripts.set(name, [...(transcripts.get(name) ?? []), parts.join("\n")]);
  }

  async function both(...words: string[]): Promise<void> {
    await run(words);
    await run([...words, "--output", "json"]);
  }

  /** One story, since most of what a command tells is about what came before it. */
  beforeAll(async () => {
    cwd = await project(FILES, ORDERS);
    await both("plan");
    await run(["apply"]);
    await run(["refresh"]);
    await sql(cwd, "INSERT INTO orders VALUES (4, 2, 5.00)", "DELETE FROM orders WHERE id = 1");
    await both("status");
    await run(["plan"]);
    await run(["refresh", "--output", "json"]);
    await sql(cwd, "INSERT INTO orders VALUES (5, 1, 100.00)");
    await run(["refresh"]);
    await both("refresh");
    await both("explain", "spent");
    await run(["explain", "typical"]);
    await both("history", "spent", "--limit", "2");
    await both("graph");
    await run(["graph", "--format", "mermaid"]);
    await both("changes", "spent", "--since", "9");
    await run(["state", "spent"], "changes");
    await run(["changes", "spent", "--since", "6"], "errors");
    await run(["verify"]);
    await sql(cwd, "UPDATE ivm.data_spent SET amount = 0 WHERE name = 'Ada'", "DROP TABLE customers");
    await both("verify", "spent");
    await run(["refresh"]);
    await both("doctor");
    await both("maintain");
    await run(["explain", "spend"], "errors");
    await run(["status", "spend"], "errors");
    await run(["state", "spend"], "errors");
    await run(["why", "spent", "--key", "nme=Ada"], "errors");
    await command(["consumer", "add", "search", "spent"], { cwd });
    await run(["consumer", "remove", "serch"], "errors");
    await run(["refresh", "--select", "tag:dayly"], "errors");
    await run(["query", "DELETE FROM spent"], "errors");
    await run(["changes"], "errors");
    await run(["refrsh"], "errors");
    await run(["status", "--outptu", "json"], "errors");
    await rename(join(cwd, "views/typical.sql"), join(cwd, "views/Spent.sql"));
    await run(["apply"], "errors");
    await run(["apply", "--output", "json"], "errors");
    await rename(join(cwd, "ducklake-ivm.yaml"), join(cwd, "ducklake-ivm.yml"));
    await run(["status"], "errors");
  });

  it.each([
    "plan",
    "apply",
    "refresh",
    "status",
    "explain",
    "history",
    "graph",
    "changes",
    "verify",
    "doctor",
    "maintain",
    "errors",
  ])("of %s", async (name) => {
    await expect(`${transcripts.get(name)?.join("\n\n")}\n`).toMatchFileSnapshot(golden(name));
  });
});
