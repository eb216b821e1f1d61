import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { IngestEvent, LogConfig, LogEvent, RefreshEvent, ReplayEvent, VerifyEvent } from "../../src/index.js";
import { OpenLake } from "../setup/open-lake.js";

const TABLES = [
  "CREATE TABLE customers (id INTEGER, name VARCHAR)",
  "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob')",
  "CREATE TABLE orders (id INTEGER, customer INTEGER, amount INTEGER)",
  "INSERT INTO orders SELECT i, 1 + i % 2, i FROM range(100) r(i)",
];
const VIEWS = [
  {
    name: "named",
    sql: "SELECT o.id, c.name, o.amount FROM orders o JOIN customers c ON c.id = o.customer",
    primaryKey: ["id"],
    refresh: "incremental" as const,
  },
  { name: "totals", sql: "SELECT name, sum(amount) AS total FROM named GROUP BY 1", refresh: "incremental" as const },
];

async function start(log?: LogConfig): Promise<OpenLake> {
  const opened = await OpenLake.start({}, log);
  for (const sql of TABLES) await opened.rows(sql);
  return opened;
}

/** Events without what differs from run to run. */
function shown(event: RefreshEvent): unknown {
  switch (event.kind) {
    case "run_started":
      return [event.kind, ...event.views];
    case "view_finished":
      return [event.kind, event.view, event.position, event.result.status];
    case "run_finished":
      return [event.kind, event.result.status];
    case "view_started":
      return [event.kind, event.view, event.position];
    case "delta_read":
      return [event.kind, event.view, event.source, event.rows];
    case "computing":
      return [event.kind, event.view, event.strategy, ...event.terms];
    case "writing":
      return [event.kind, event.view, event.strategy];
    default:
      return [event.kind];
  }
}

describe("refresh", () => {
  test("tells the run, its views, their deltas and terms, and the results", async () => {
    await using opened = await start();
    const { lake } = opened;
    await lake.define(VIEWS);
    const events: RefreshEvent[] = [];
    const onProgress = (event: RefreshEvent): number => events.push(event);
    const first = await lake.refresh({ onProgress });
    const [one, two] = [
      { number: 1, of: 2 },
      { number: 2, of: 2 },
    ];
    expect(events.map(shown)).toEqual([
      ["run_started", "named", "totals"],
      ["view_started", "named", one],
      ["computing", "named", "initial"],
      ["view_finished", "named", one, "refreshed"],
      ["view_started", "totals", two],
      ["computing", "totals", "initial"],
      ["view_finished", "totals", two, "refreshed"],
      ["run_finished", "refreshed"],
    ]);
    expect(events.at(0)).toMatchObject({ runId: first.runId, horizon: first.horizon });
    expect(events.at(-1)).toEqual({ kind: "run_finished", result: first });
    expect(events.filter((event) => event.kind === "view_finished").map((event) => event.result)).toEqual(first.views);

    events.length = 0;
    await opened.rows("UPDATE orders SET amount = amount + 1 WHERE id < 3");
    await lake.refresh({ onProgress });
    expect(events.map(shown)).toEqual([
      ["run_started", "named", "totals"],
      ["view_started", "named", one],
      ["delta_read", "named", "main.orders", 6n],
      ["computing", "named", "incremental", "o"],
      ["writing", "named", "incremental"],
      ["view_finished", "named", one, "refreshed"],
      ["view_started", "totals", two],
      ["delta_read", "totals", "main.named", 6n],
      ["computing", "totals", "incremental", "named"],
      ["writing", "totals", "incremental"],
      ["view_finished", "totals", two, "refreshed"],
      ["run_finished", "refreshed"],
    ]);

    events.length = 0;
    await lake.refresh({ onProgress });
    expect(events.map((event) => event.kind)).toEqual([
      "run_started",
      "view_started",
      "view_finished",
      "view_started",
      "view_finished",
      "run_finished",
    ]);
  });

  test("tells a failed view, and those that read it, as finished", async () => {
    await using opened = await start();
    const { lake } = opened;
    await lake.define([
      { name: "bad", sql: "SELECT CAST(name AS INTEGER) AS n FROM customers" },
      { name: "after", sql: "SELECT n FROM bad" },
    ]);
    const errors: unknown[] = [];
    await lake.refresh({
      onProgress: (event) => {
        if (event.kind === "view_finished") errors.push(event.result.error?.code);
      },
    });
    expect(errors).toEqual(["engine_error", "upstream_failed"]);
  });

  test("goes on when its listener throws, which is an uncaught exception", async () => {
    await using opened = await start();
    const { lake } = opened;
    await lake.define(VIEWS);
    const uncaught: unknown[] = [];
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => uncaught.push(error.message));
    try {
      const result = await lake.refresh({
        onProgress: (event) => {
          if (event.kind === "run_started") throw new Error("a fault of the listener");
        },
      });
      expect(result.status).toBe("refreshed");
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const listener of listeners) process.on("uncaughtException", listener);
    }
    expect(uncaught).toEqual(["a fault of the listener"]);
  });
});

test("verify tells each view and its result", async () => {
  await using opened = await start();
  const { lake } = opened;
  await lake.define(VIEWS);
  await lake.refresh();
  const events: VerifyEvent[] = [];
  const results = await lake.verify({ views: ["totals"], onProgress: (event) => events.push(event) });
  const position = { number: 1, of: 1 };
  expect(events).toEqual([
    { kind: "view_started", view: "totals", position },
    { kind: "view_finished", view: "totals", position, result: results[0] },
  ]);
});

test("append and merge tell what they are about to write", async () => {
  await using opened = await start();
  const { lake } = opened;
  const events: IngestEvent[] = [];
  const onProgress = (event: IngestEvent): number => events.push(event);
  await lake.merge("customers", { query: "SELECT 2 AS id, 'Eve' AS name UNION ALL SELECT 3, 'Cy'" }, { key: ["id"] });
  await lake.merge(
    "customers",
    { query: "SELECT 2 AS id, 'Bea' AS name UNION ALL SELECT 3, 'Cy' UNION ALL SELECT 4, 'Di'" },
    { key: ["id"], onProgress },
  );
  expect(events).toEqual([
    { kind: "reading", table: "customers" },
    { kind: "comparing", table: "main.customers" },
    { kind: "writing", table: "main.customers", rows: { input: 3n, inserted: 1n, updated: 1n, deleted: 0n } },
  ]);
  events.length = 0;
  await lake.append("customers", { query: "SELECT 4 AS id, 'Di' AS name" }, { key: ["id"], onProgress });
  expect(events.map(({ kind }) => kind)).toEqual(["reading", "comparing"]);
});

test("compact tells each log and its steps, replay what it applies, and refresh what it compacts by itself", async () => {
  await using opened = await start({ fanOut: 2, compact: "manual" });
  const { lake } = opened;
  await lake.define(VIEWS.slice(0, 1));
  const from = (await lake.refresh()).horizon;
  await lake.addConsumer("mirror", "named", "end");
  const replayed: ReplayEvent[] = [];
  const replay = {
    consumer: "mirror",
    into: `duckdb:${join(opened.folder, "mirror.db")}.named`,
    onProgress: (event: ReplayEvent): number => replayed.push(event),
  };
  await lake.replay(replay);
  let to = from;
  for (let id = 200; id < 204; id += 1) {
    await opened.rows(`INSERT INTO orders VALUES (${id}, 1, 1)`);
    to = (await lake.refresh()).horizon;
  }
  await lake.replay(replay);
  await lake.replay(replay);
  expect(replayed).toEqual([
    { kind: "applying", view: "named", took: "state", from: null, to: from },
    { kind: "applying", view: "named", took: "changes", from, to },
  ]);
  const events: LogEvent[] = [];
  const { logs } = await lake.compact({ onProgress: (event) => events.push(event) });
  const position = { number: 1, of: 1 };
  const [first, ...steps] = events;
  expect(first).toEqual({ kind: "log_started", log: "named", position });
  expect(steps.pop()).toEqual({ kind: "log_finished", log: "named", position, result: logs[0] });
  expect(steps.length).toBe((logs[0]?.merges ?? 0) + (logs[0]?.folds ?? 0));
  expect(steps.length).toBeGreaterThan(0);
  const rows = steps.reduce((sum, event) => sum + (event.kind === "log_step" ? event.rows : 0n), 0n);
  expect(rows).toBe(logs[0]?.rewritten);
});

test("refresh tells the logs that it compacts after its views", async () => {
  await using opened = await start({ fanOut: 2 });
  const { lake } = opened;
  await lake.define(VIEWS.slice(0, 1));
  const kinds = new Set<string>();
  for (let id = 200; id < 206; id += 1) {
    await opened.rows(`INSERT INTO orders VALUES (${id}, 1, 1)`);
    await lake.refresh({ onProgress: (event) => kinds.add(event.kind) });
  }
  expect(["log_started", "log_step", "log_finished"].filter((kind) => !kinds.has(kind))).toEqual([]);
});
