import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { InterruptedError, open } from "../../src/index.js";
import { silentServer } from "../cli/silent-server.js";
import { OpenLake } from "../setup/open-lake.js";

/** Takes minutes, whatever the machine. */
const ENDLESS = "SELECT count(*) AS n FROM numbers a, numbers b, numbers c WHERE (a.n * b.n + c.n) % 7 = 3";

async function start(logged = false): Promise<OpenLake> {
  const opened = await OpenLake.start({}, logged ? { fanOut: 2, compact: "manual" } : undefined);
  await opened.rows("CREATE TABLE numbers AS SELECT range AS n FROM range(100000)");
  await opened.rows("CREATE TABLE orders AS SELECT range AS id, range % 10 AS customer FROM range(20000)");
  return opened;
}

/** A signal that is aborted a while after the work has begun. */
function soon(): AbortSignal {
  return AbortSignal.timeout(300);
}

async function expectInterrupted(work: Promise<unknown>): Promise<InterruptedError> {
  const began = performance.now();
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(InterruptedError);
  expect(error).toMatchObject({ code: "interrupted" });
  expect(performance.now() - began).toBeLessThan(20_000);
  return error as InterruptedError;
}

describe("an aborted signal", () => {
  test("ends a refresh while it computes, and the lake goes on", async () => {
    await using opened = await start();
    const { lake } = opened;
    await lake.define([
      { name: "first", sql: "SELECT customer, count(*) AS n FROM orders GROUP BY 1" },
      { name: "second", sql: ENDLESS },
    ]);
    const abort = new AbortController();
    const error = await expectInterrupted(
      lake.refresh({
        signal: abort.signal,
        onProgress: (event) => {
          if (event.kind === "computing" && event.view === "second") {
            void setTimeout(200).then(() => abort.abort(new Error("no time left")));
          }
        },
      }),
    );
    expect(error.cause).toEqual(new Error("no time left"));
    const status = await lake.status();
    expect(status.map(({ view, state }) => [view, state])).toEqual([
      ["first", "fresh"],
      ["second", "pending"],
    ]);
    expect((await lake.refresh({ views: ["first"] })).status).toBe("unchanged");
  });

  test("ends a call at once that waits for its turn", async () => {
    await using opened = await start();
    const { lake } = opened;
    const long = new AbortController();
    const running = lake.append("numbers", { query: ENDLESS }, { signal: long.signal });
    running.catch(() => undefined);
    await expectInterrupted(lake.refresh({ signal: soon() }));
    long.abort();
    await expectInterrupted(running);
    expect(await opened.rows("SELECT count(*) FROM numbers")).toEqual([[100_000n]]);
  });

  test("that was aborted before keeps every call from its work", async () => {
    await using opened = await start(true);
    const { lake } = opened;
    await lake.define([{ name: "v", sql: "SELECT customer, count(*) AS n FROM orders GROUP BY 1" }]);
    await lake.refresh();
    await lake.addConsumer("c", "v");
    await opened.rows("INSERT INTO orders VALUES (1, 2)");
    const signal = AbortSignal.abort();
    const into = `duckdb:${join(opened.folder, "mirror.db")}.v`;
    const calls: (() => Promise<unknown>)[] = [
      () => open({ catalog: join(opened.folder, "another.ducklake") }, { signal }),
      () => lake.define([], { signal, drop: true }),
      () => lake.refresh({ signal }),
      () => lake.append("orders", { query: "SELECT 1 AS id, 2 AS customer" }, { signal }),
      () => lake.merge("orders", { query: "SELECT 1 AS id, 2 AS customer" }, { signal, key: ["id"] }),
      () => lake.explain("v", { signal }),
      () => lake.verify({ signal }),
      () => lake.status({ signal }),
      () => lake.changes("v", { signal, since: 0n }),
      () => lake.state("v", { signal }),
      () => lake.compact({ signal }),
      () => lake.sweep({ signal }),
      () => lake.replay({ signal, consumer: "c", into }),
    ];
    const before = await opened.rows("SELECT max(snapshot_id) FROM lake.snapshots()");
    for (const call of calls) await expectInterrupted(call());
    expect(await opened.rows("SELECT max(snapshot_id) FROM lake.snapshots()")).toEqual(before);
    expect(await lake.replay({ consumer: "c", into })).toMatchObject({ status: "applied" });
  });

  test("ends verify and append in the middle of a statement", async () => {
    await using opened = await start();
    const { lake } = opened;
    await expectInterrupted(lake.append("answers", { query: ENDLESS }, { create: true, signal: soon() }));
    await lake.define([{ name: "slow", sql: ENDLESS.replace("numbers c", "(SELECT 1 AS n) c") }]);
    await opened.rows("CREATE OR REPLACE TABLE numbers AS SELECT range AS n FROM range(10)");
    await lake.refresh();
    expect(await lake.verify()).toMatchObject([{ ok: true }]);
    const abort = new AbortController();
    const onProgress = (): void => abort.abort();
    await expectInterrupted(lake.verify({ signal: abort.signal, onProgress }));
  });

  test("ends the reading of a change log between two rows", async () => {
    await using opened = await start(true);
    const { lake } = opened;
    await lake.define([{ name: "v", sql: "SELECT id, customer FROM orders", primaryKey: ["id"] }]);
    await lake.refresh();
    const abort = new AbortController();
    const rows = await lake.state("v", { signal: abort.signal });
    let read = 0;
    await expectInterrupted(
      (async () => {
        for await (const _ of rows) {
          read += 1;
          abort.abort();
        }
      })(),
    );
    // What was fetched with the first row is still given.
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(20_000);
  });

  test("ends a replay and leaves nothing of its target behind", async () => {
    await using opened = await start(true);
    const { lake } = opened;
    await lake.define([{ name: "v", sql: "SELECT id, customer FROM orders", primaryKey: ["id"] }]);
    await lake.refresh();
    await lake.addConsumer("c", "v");
    const replay = { consumer: "c", into: `duckdb:${join(opened.folder, "mirror.db")}.v` };
    const abort = new AbortController();
    const onProgress = (): void => abort.abort();
    await expectInterrupted(lake.replay({ ...replay, signal: abort.signal, onProgress }));
    expect(await lake.replay(replay)).toMatchObject({ status: "applied", rows: { inserted: 20_000n } });
  });

  test("ends a compaction after the step that it was at", async () => {
    await using opened = await start(true);
    const { lake } = opened;
    await lake.define([{ name: "v", sql: "SELECT id, customer FROM orders", primaryKey: ["id"] }]);
    const abort = new AbortController();
    for (let id = 30_000; id < 30_004; id += 1) {
      await opened.rows(`INSERT INTO orders VALUES (${id}, 0)`);
      await lake.refresh();
    }
    const rows = await opened.rows("SELECT count(*) FROM ivm.segments");
    await expectInterrupted(
      lake.compact({
        signal: abort.signal,
        onProgress: (event) => {
          if (event.kind === "log_started") abort.abort();
        },
      }),
    );
    expect(await opened.rows("SELECT count(*) FROM ivm.segments")).toEqual(rows);
    await lake.compact();
    expect((await lake.verify())[0]?.ok).toBe(true);
  });

  test("ends the opening of a lake whose server does not answer", async () => {
    const server = await silentServer();
    const catalog = `postgres:dbname=x host=127.0.0.1 port=${server.port}`;
    await expectInterrupted(open({ catalog }, { signal: soon() }));
    await server[Symbol.asyncDispose]();
  });
});
