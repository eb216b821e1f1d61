import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it, vi } from "vitest";
import { type LogEntry, type LogFormat, logLine } from "../../src/cli/log.js";
import { ProgressDisplay, type ProgressState } from "../../src/cli/progress.js";
import { ingestListener, progressListener } from "../../src/cli/progress-events.js";
import { folder } from "../project/files.js";
import { BINARY, command, processOptions } from "./command.js";
import { ORDERS, project, sql, VIEWS } from "./lake.js";

vi.setConfig({ testTimeout: 180_000 });

const TERMINAL = fileURLToPath(new URL("./terminal.py", import.meta.url));

/** What a command writes where stdout and stderr are a terminal. */
async function inTerminal(words: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const options = processOptions({ cwd, env: { TERM: "xterm-256color", ...env } });
  return execa("python3", [TERMINAL, BINARY, ...words], options);
}

const ESCAPE = String.fromCharCode(27);
const hasColours = (text: string): boolean => text.includes(`${ESCAPE}[32m`);

/** What is left on the screen of what was written, where nothing moves up. */
function screen(written: string): string[] {
  const codes = new RegExp(`${ESCAPE}(?:\\[[?\\d;]*[A-Za-z]|[78])`, "g");
  // A cleared line, and a line that was begun anew, are gone.
  const lines = written.replaceAll(/\r\n/g, "\n").split("\n");
  const clear = new RegExp(`${ESCAPE}\\[2K|${ESCAPE}\\[1G|${ESCAPE}\\[G`);
  return lines.map((line) => (line.split(clear).at(-1) ?? "").replaceAll(codes, "").trimEnd());
}

describe("on a terminal", () => {
  it("a refresh and a verification show a bar while they work, and nothing of it stays", async () => {
    const cwd = await project(VIEWS, ORDERS);
    await command(["apply"], { cwd });
    const refresh = await inTerminal(["refresh"], cwd);
    expect(refresh.exitCode, refresh.stdout).toBe(0);
    expect(refresh.stdout).toMatch(/refresh ░+ 0\/2 views/);
    // What is between the first and the last look depends on how fast the machine is.
    expect(refresh.stdout).toMatch(/refresh █+ 2\/2 views +big_spenders/);
    expect(screen(refresh.stdout).join("\n")).not.toMatch(/░|█|\d\/2 views/);
    expect(screen(refresh.stdout)[0]).toMatch(/^VIEW +STATUS/);
    // The cursor is back, and lines wrap again.
    expect(refresh.stdout.lastIndexOf(`${ESCAPE}[?25h`)).toBeGreaterThan(refresh.stdout.lastIndexOf(`${ESCAPE}[?25l`));
    expect(refresh.stdout.lastIndexOf(`${ESCAPE}[?7h`)).toBeGreaterThan(refresh.stdout.lastIndexOf(`${ESCAPE}[?7l`));
    expect(hasColours(refresh.stdout)).toBe(true);

    await sql(cwd, "INSERT INTO orders SELECT range, 1, range FROM range(2000)");
    const second = await inTerminal(["refresh"], cwd, { NO_COLOR: "1" });
    expect(second.stdout).toMatch(/refresh █+ 2\/2 views {2}2,0\d\d rows {2}big_spenders/);
    expect(hasColours(second.stdout)).toBe(false);

    const verify = await inTerminal(["verify", "--output", "json"], cwd);
    expect(verify.stdout).toMatch(/verify ░+ 0\/2 views/);
    expect(JSON.parse(screen(verify.stdout).findLast((line) => line !== "") ?? "")).toMatchObject({ ok: true });

    const append = await inTerminal(
      ["append", "orders", "from", "SELECT 7 AS id, 1 AS customer_id, 2.5 AS amount FROM range(3)"],
      cwd,
    );
    expect(append.stdout).toMatch(/append ░+ 0\/3 steps {2}orders: reading/);
    expect(screen(append.stdout)).toEqual([expect.stringMatching(/^main\.orders: 3 inserted/)]);

    const log = await inTerminal(["refresh", "--log-format", "json"], cwd);
    expect(log.stdout).not.toContain("░");
    const dumb = await inTerminal(["refresh"], cwd, { TERM: "dumb" });
    expect(dumb.stdout).not.toContain(ESCAPE);
  });
});

describe("a log of JSON lines", () => {
  it("has an object with time, level, message and fields on each line of stderr, and no secret", async () => {
    const cwd = await project(VIEWS, ORDERS);
    const words = ["refresh", "--log-format", "json", "--output", "csv"];
    const entriesOf = (stderr: string): Record<string, unknown>[] =>
      stderr.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
    await command(["apply"], { cwd });
    const refresh = await command(["refresh", "--log-format", "json", "--debug"], { cwd });
    const entries = entriesOf(refresh.stderr);
    for (const entry of entries) {
      expect(Object.keys(entry)).toEqual(["time", "level", "message", "fields"]);
      expect(new Date(String(entry["time"])).toISOString()).toBe(entry["time"]);
    }
    const fields = { view: "spent", strategy: "initial", inserted: 2, deleted: 0, elapsed_ms: expect.any(Number) };
    expect(entries).toContainEqual({ time: expect.any(String), level: "info", message: "spent refreshed", fields });
    expect(entries.some(({ level }) => level === "debug")).toBe(true);
    expect(refresh.stdout).toMatch(/^VIEW/);

    const failed = entriesOf((await command(words, { cwd })).stderr);
    expect(failed).toMatchObject([{ level: "error", fields: { code: "output_format", hint: expect.any(String) } }]);

    const secret = await folder({ "ducklake-ivm.yaml": "lake: { catalog: 'tops3cret' }\nkey: tops3cret\n" });
    const told = await command(["status", "--log-format=json"], { cwd: secret, env: { MY_TOKEN: "tops3cret" } });
    expect(entriesOf(told.stderr)).toMatchObject([{ level: "error" }]);
    expect(told.stderr + told.stdout).not.toContain("tops3cret");
    const refused = await command(["verfy", "--log-format", "json"]);
    expect(entriesOf(refused.stderr)).toMatchObject([{ level: "error", fields: { hint: "Did you mean verify?" } }]);
  });

  it("keeps numbers exact and takes secrets out of fields", () => {
    const fields = { rows: 2n ** 60n, view: "v", password: "hush", none: null, left: undefined };
    const redact = (text: string): string => text.replaceAll("hush", "***");
    const entry: LogEntry = { level: "warn", message: "hush now", fields };
    expect(JSON.parse(logLine(entry, "json", redact, new Date(0)))).toEqual({
      time: "1970-01-01T00:00:00.000Z",
      level: "warn",
      message: "*** now",
      fields: { rows: String(2n ** 60n), view: "v", password: "***", none: null },
    });
    expect(logLine(entry, "text", redact)).toBe("*** now rows=1152921504606846976 view=v password=*** none=null");
  });
});

describe("where there is no terminal", () => {
  async function told(format: LogFormat, msPerEvent: number): Promise<string[]> {
    let now = 0;
    const lines: string[] = [];
    const log = ({ level, message }: LogEntry): void => void lines.push(`${level} ${message}`);
    const display = await ProgressDisplay.start(
      { stream: process.stderr, log, format, quietMs: 1_000, now: () => now },
      false,
    );
    const listen = progressListener(display, "verify");
    for (const [index, view] of ["a", "b"].entries()) {
      const position = { number: index + 1, of: 2 };
      const result = { view, tolerance: 0, ok: true, horizon: 1n, rows: 5n, differences: [], differenceCount: 0n };
      for (const event of [
        { kind: "view_started", view, position } as const,
        { kind: "view_finished", view, position, result: { ...result, error: null } } as const,
      ]) {
        now += msPerEvent;
        listen(event);
      }
    }
    return lines;
  }

  it("the term that runs is told of", () => {
    const steps: string[] = [];
    const listen = progressListener({ show: ({ step }) => steps.push(step), tell: () => undefined }, "refresh");
    const source = "main.orders";
    listen({ kind: "delta_read", view: "a", source, method: "files", rows: 3n });
    listen({ kind: "computing", view: "a", strategy: "incremental", terms: ["orders", "o2"] });
    listen({ kind: "computing", view: "a", strategy: "recompute", terms: [] });
    expect(steps).toEqual(["a: read main.orders", "a: computing orders, o2", "a: computing recompute"]);
  });

  it("the step of an append or a merge is told of, with the rows that it writes", () => {
    const shown: ProgressState[] = [];
    const listen = ingestListener({ show: (state) => shown.push(state), tell: () => undefined }, "merge");
    const table = "main.t";
    listen({ kind: "reading", table });
    listen({ kind: "comparing", table });
    listen({ kind: "writing", table, rows: { input: 9n, inserted: 1n, updated: 2n, deleted: 4n } });
    const own = { task: "merge", of: 3, unit: "steps" };
    expect(shown).toEqual([
      { ...own, done: 0, rows: 0n, step: "main.t: reading" },
      { ...own, done: 1, rows: 0n, step: "main.t: comparing" },
      { ...own, done: 2, rows: 7n, step: "main.t: writing" },
    ]);
  });

  it("what is short says nothing, and what is long tells each part in a line", async () => {
    expect(await told("text", 100)).toEqual([]);
    expect(await told("text", 600)).toEqual(["info a is exact", "info b is exact"]);
    expect(await told("text", 1_200)).toEqual([
      "info verify: 0/2 views, a",
      "info a is exact",
      "info verify: 1/2 views, b",
      "info b is exact",
    ]);
    expect(await told("json", 1)).toEqual(["debug a", "info a is exact", "debug b", "info b is exact"]);
  });
});
