import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChangeHistory } from "../../src/catalog/change-history.js";
import { commitTime, currentSnapshot, existingSnapshots, requireSnapshot } from "../../src/catalog/snapshots.js";
import { LakeError } from "../../src/errors.js";
import { CatalogLake } from "./lake.js";

let lake: CatalogLake;
beforeAll(async () => {
  lake = await CatalogLake.open();
});
afterAll(() => lake[Symbol.asyncDispose]());

async function idOf(table: string): Promise<bigint> {
  return (await lake.cursor(table)).tableId;
}

describe("snapshots", () => {
  test("the newest one goes up with every commit, and a transaction sees its own beginning", async () => {
    const before = await lake.now();
    await lake.run("CREATE TABLE counted (a INTEGER)", "INSERT INTO counted VALUES (1)");
    expect(await lake.now()).toBe(before + 2n);
    const other = await lake.engine.session();
    await other.run("BEGIN");
    const pinned = await currentSnapshot(other);
    await lake.run("INSERT INTO counted VALUES (2)");
    expect(await currentSnapshot(other)).toBe(pinned);
    await other.run("COMMIT");
    expect(await currentSnapshot(other)).toBe(pinned + 1n);
    other.close();
  });

  test("those that were expired or never were are told apart from those that are there", async () => {
    await lake.run("CREATE TABLE gone (a INTEGER)");
    const expired = await lake.now();
    await lake.run("INSERT INTO gone VALUES (1)");
    const kept = await lake.now();
    await lake.run(`CALL ducklake_expire_snapshots('lake', versions => [${expired}])`);
    expect(await existingSnapshots(lake.session, lake.engine, [expired, kept, 9999n])).toEqual(new Set([kept]));
    expect(await existingSnapshots(lake.session, lake.engine, [])).toEqual(new Set());
    await requireSnapshot(lake.session, lake.engine, kept);
    const error = await requireSnapshot(lake.session, lake.engine, expired).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LakeError);
    expect(error).toMatchObject({ code: "snapshot_missing", subject: { snapshot: expired } });
    expect(String(error)).toContain(`The lake has no snapshot ${expired}.`);
  });

  test("have the time of their commit, with its time zone", async () => {
    const time = await commitTime(lake.session, lake.engine, await lake.now());
    const row = await lake.session.row<{ age: number }>(
      "SELECT abs(epoch(now()) - epoch($1::VARCHAR::TIMESTAMPTZ))::DOUBLE AS age",
      [time],
    );
    expect(row.age).toBeLessThan(600);
    expect(time).toMatch(/[+-]\d\d(:\d\d)?$/);
  });

  test("have the same time in the history of changes, where it was read", async () => {
    const now = await lake.now();
    const history = await ChangeHistory.read(lake.session, now, now);
    expect(history.timeOf(now)).toBe(await commitTime(lake.session, lake.engine, now));
    expect(history.timeOf(now - 1n)).toBeUndefined();
  });
});

describe("the history of changes", () => {
  test("tells which tables each window changed, and how", async () => {
    await lake.run("CREATE TABLE one (a INTEGER)", "CREATE TABLE two (a INTEGER)");
    const [one, two] = [await idOf("one"), await idOf("two")];
    const start = await lake.now();
    await lake.run("INSERT INTO one VALUES (1)");
    const inserted = await lake.now();
    await lake.run("INSERT INTO two SELECT range FROM range(50)", "DELETE FROM one WHERE a = 1");
    const end = await lake.now();
    const history = await ChangeHistory.read(lake.session, start, end);
    const keys = (from: bigint, to: bigint, table: bigint): string[] => [
      ...(history.window(from, to).byTable.get(table) ?? []),
    ];
    expect(keys(start, inserted, one)).toEqual(["inlined_insert"]);
    expect(keys(start, inserted, two)).toEqual([]);
    expect(keys(start, end, one)).toEqual(["inlined_insert", "inlined_delete"]);
    expect(keys(start, end, two)).toEqual(["tables_inserted_into"]);
    // The beginning of a window does not belong to it.
    expect(keys(inserted, end, one)).toEqual(["inlined_delete"]);
    expect(keys(end, end, one)).toEqual([]);
    expect(history.window(start, end)).toMatchObject({ incomplete: false, tablesChanged: false });
  });

  test("says where names can have got another meaning", async () => {
    const start = await lake.now();
    await lake.run("CREATE TABLE three (a INTEGER)");
    const created = await lake.now();
    await lake.run("INSERT INTO three VALUES (1)");
    const written = await lake.now();
    await lake.run("ALTER TABLE three RENAME TO four");
    const renamed = await lake.now();
    await lake.run("DROP TABLE four");
    const dropped = await lake.now();
    const history = await ChangeHistory.read(lake.session, start, dropped);
    const changed = (from: bigint, to: bigint): boolean => history.window(from, to).tablesChanged;
    expect(changed(start, created)).toBe(true);
    expect(changed(created, written)).toBe(false);
    expect(changed(written, renamed)).toBe(true);
    expect(changed(renamed, dropped)).toBe(true);
  });

  test("says where a snapshot of the window is not known any more", async () => {
    await lake.run("CREATE TABLE five (a INTEGER)");
    const start = await lake.now();
    await lake.run("INSERT INTO five VALUES (1)");
    const expired = await lake.now();
    await lake.run("INSERT INTO five VALUES (2)");
    const end = await lake.now();
    await lake.run(`CALL ducklake_expire_snapshots('lake', versions => [${expired}])`);
    const history = await ChangeHistory.read(lake.session, start, end);
    expect(history.window(start, end).incomplete).toBe(true);
    expect(history.window(expired, end).incomplete).toBe(false);
    expect([history.knows(start), history.knows(expired), history.knows(end)]).toEqual([true, false, true]);
  });

  test("is read on for snapshots that were made since, each once", async () => {
    await lake.run("CREATE TABLE six (a INTEGER)");
    const table = await idOf("six");
    const start = await lake.now();
    const history = await ChangeHistory.read(lake.session, start, start);
    await lake.run("INSERT INTO six VALUES (1)");
    const end = await lake.now();
    await history.extend(lake.session, end);
    await history.extend(lake.session, end);
    expect([...(history.window(start, end).byTable.get(table) ?? [])]).toEqual(["inlined_insert"]);
    expect(history.window(start, end).incomplete).toBe(false);
  });
});
