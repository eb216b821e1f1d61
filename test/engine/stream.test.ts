/** DuckDB's driver ends a stream of rows that fails on the way as if it were at its end. */
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { Session } from "../../src/engine/session.js";
import { InterruptedError } from "../../src/errors.js";

async function count(session: Session, sql: string, each: () => void = () => undefined): Promise<number> {
  let rows = 0;
  for await (const chunk of session.stream(sql)) {
    rows += chunk.length;
    each();
  }
  return rows;
}

async function connect() {
  const instance = await DuckDBInstance.create(":memory:");
  return instance.connect();
}

const failingAt = (row: number): string =>
  `SELECT CASE WHEN range < ${row} THEN range ELSE error('no more') :: INT END AS n FROM range(1000000)`;

test("a stream has all rows, or ends with the error that cut it short", async () => {
  const session = new Session(await connect(), (text) => text.replaceAll("no more", "***"));
  expect(await count(session, failingAt(1_000_000))).toBe(1_000_000);
  expect(await count(session, "SELECT 1 WHERE false")).toBe(0);
  let read = 0;
  const failing = count(session, failingAt(700_000), () => {
    read += 1;
  });
  await expect(failing).rejects.toMatchObject({ code: "engine_error", message: expect.stringContaining("***") });
  expect(read).toBeGreaterThan(0);
  // What one stream met is not the next one's.
  expect(await count(session, "FROM range(10)")).toBe(10);
  session.close();
});

test("an error that does not come again is told all the same", async () => {
  const session = new Session(await connect());
  await session.run("CREATE SEQUENCE runs");
  const once = `SELECT CASE WHEN range < 700000 OR run > 1 THEN range ELSE error('once') :: INT END AS n
    FROM range(1000000), (SELECT nextval('runs') AS run)`;
  await expect(count(session, once)).rejects.toMatchObject({ code: "rows_cut_short" });
  session.close();
});

test("an abort ends a stream with InterruptedError, whenever it comes", async () => {
  for (const pauses of [0, 1, 20]) {
    const stop = new AbortController();
    const session = new Session(await connect(), (text) => text, stop.signal);
    let chunks = 0;
    const reading = count(session, "SELECT range * 2 AS n FROM range(100000000000)", () => {
      chunks += 1;
      if (chunks === 5) setTimeout(() => stop.abort(), pauses);
    });
    await expect(reading).rejects.toBeInstanceOf(InterruptedError);
    session.close();
  }
});
