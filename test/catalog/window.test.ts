import { afterAll, beforeAll, expect, test } from "vitest";
import { ChangeHistory } from "../../src/catalog/change-history.js";
import { inspectWindow, type WindowRequest, type WindowState } from "../../src/catalog/window.js";
import { CatalogLake } from "./lake.js";

let lake: CatalogLake;
beforeAll(async () => {
  lake = await CatalogLake.open();
  await lake.run("CREATE TABLE other (a INTEGER)");
});
afterAll(() => lake[Symbol.asyncDispose]());

async function inspect(request: WindowRequest): Promise<WindowState> {
  const history = await ChangeHistory.read(lake.session, request.from, request.to);
  return inspectWindow(lake.session, lake.engine, history, request);
}

interface Scene {
  /** What happens in the window; `$t` is the table's name. */
  readonly window: readonly string[];
  readonly expected: string;
  /** What was done before; a table with 40 rows in one file where left out. */
  readonly before?: readonly string[];
  /** The columns that are used; all where left out. */
  readonly columns?: readonly string[];
}

type Scenes = Readonly<Record<string, Scene>>;

let tables = 0;

/** Plays all scenes in one window, each on a table of its own, their statements side by side in as few commits as can be. */
async function statesOf(scenes: Scenes): Promise<Record<string, string>> {
  const played = Object.entries(scenes).map(([name, scene]) => {
    tables += 1;
    return { name, scene, table: `t${tables}` };
  });
  await together(
    played.map(({ scene, table }) => (scene.before ?? [FORTY_ROWS]).map((text) => text.replaceAll("$t", table))),
  );
  const cursors = [];
  for (const { scene, table } of played) cursors.push(await lake.cursor(table, scene.columns));
  await together(played.map(({ scene, table }) => scene.window.map((text) => text.replaceAll("$t", table))));
  const to = await lake.now();
  const states: Record<string, string> = {};
  for (const [index, cursor] of cursors.entries()) {
    states[played[index]?.name ?? ""] = print(await inspect({ ...cursor, to }));
  }
  return states;
}

const FORTY_ROWS = "CREATE TABLE $t AS SELECT i::INTEGER AS a, i % 7 AS b FROM range(40) r(i)";

/** Runs the first statements of all lists in one transaction, then the second ones; maintenance runs by itself. */
async function together(lists: readonly (readonly string[])[]): Promise<void> {
  const rounds = Math.max(...lists.map((list) => list.length));
  for (let round = 0; round < rounds; round += 1) {
    const statements = lists.flatMap((list) => list[round] ?? []);
    const alone = statements.filter((statement) => statement.startsWith("CALL"));
    const shared = statements.filter((statement) => !statement.startsWith("CALL"));
    await lake.run(...alone);
    if (shared.length > 0) await lake.run("BEGIN", ...shared.flatMap((statement) => statement.split(";")), "COMMIT");
  }
}

function print(state: WindowState): string {
  if (state.kind === "changed") return state.reason === null ? state.method : `${state.method}: ${state.reason.code}`;
  return state.kind === "rebuild" ? `rebuild: ${state.reason.code}` : state.kind;
}

async function expectStates(scenes: Scenes): Promise<void> {
  const expected = Object.entries(scenes).map(([name, scene]) => [name, scene.expected]);
  expect(await statesOf(scenes)).toEqual(Object.fromEntries(expected));
}

test("a table is changed where its rows are, wherever they are kept", async () => {
  await expectStates({
    "nothing happens": { window: [], expected: "unchanged" },
    "another table changes": { window: ["INSERT INTO other SELECT range FROM range(100)"], expected: "unchanged" },
    "few rows are inserted, which the catalog keeps": { window: ["INSERT INTO $t VALUES (100, 1)"], expected: "files" },
    "many rows are inserted": { window: ["INSERT INTO $t SELECT range, 1 FROM range(100)"], expected: "files" },
    "few rows are deleted, which the catalog keeps": { window: ["DELETE FROM $t WHERE a = 1"], expected: "files" },
    "many rows are deleted": { window: ["DELETE FROM $t WHERE a < 20"], expected: "files" },
    "all rows are deleted": { window: ["DELETE FROM $t"], expected: "files" },
    "rows are updated": { window: ["UPDATE $t SET b = b + 1 WHERE a % 2 = 0"], expected: "files" },
    "rows come and go again": {
      window: ["INSERT INTO $t VALUES (100, 1)", "DELETE FROM $t WHERE a = 100"],
      expected: "files",
    },
    "a file is emptied by two deletes of one transaction": {
      window: ["DELETE FROM $t WHERE a < 20;DELETE FROM $t WHERE a >= 20"],
      expected: "difference: files_emptied",
    },
    "a column has a name of the feed's own": {
      before: ["CREATE TABLE $t AS SELECT i AS Snapshot_Id FROM range(40) r(i)"],
      window: ["INSERT INTO $t VALUES (77)"],
      expected: "difference: shadowed_columns",
    },
  });
});

test("rows have no place that could be named where a column hides it", async () => {
  await expectStates({
    "a column is named filename": {
      before: ["CREATE TABLE $t AS SELECT i::VARCHAR AS FileName FROM range(40) r(i)"],
      window: ["INSERT INTO $t VALUES ('x')"],
      expected: "feed",
    },
    "a column is named file_row_number": {
      before: ["CREATE TABLE $t AS SELECT i AS file_row_number FROM range(40) r(i)"],
      window: ["INSERT INTO $t VALUES (77)"],
      expected: "feed",
    },
  });
});

test("maintenance is no change", async () => {
  const twoFiles = [
    "CREATE TABLE $t AS SELECT range::INTEGER AS a, 1 AS b FROM range(20)",
    "INSERT INTO $t SELECT range, 2 FROM range(20)",
  ];
  const manyDeleted = [FORTY_ROWS, "DELETE FROM $t WHERE a < 30"];
  const flush = "CALL ducklake_flush_inlined_data('lake', table_name => '$t')";
  const rewrite = "CALL ducklake_rewrite_data_files('lake', '$t', delete_threshold => 0.1)";
  const merge = "CALL ducklake_merge_adjacent_files('lake', '$t')";
  await expectStates({
    "files are merged": { before: twoFiles, window: [merge], expected: "unchanged" },
    "files are merged and rows change": {
      before: twoFiles,
      window: [merge, "DELETE FROM $t WHERE a = 3"],
      expected: "feed",
    },
    "inserted rows are flushed": {
      before: ["CREATE TABLE $t AS SELECT 1 AS a"],
      window: [flush],
      expected: "unchanged",
    },
    "deleted rows are flushed": {
      before: [FORTY_ROWS, "DELETE FROM $t WHERE a < 3"],
      window: [flush],
      expected: "unchanged",
    },
    "rows are deleted and flushed": { window: ["DELETE FROM $t WHERE a < 3", flush], expected: "files" },
    "files are rewritten without the deleted rows": { before: manyDeleted, window: [rewrite], expected: "unchanged" },
    "files are rewritten and rows change": {
      before: manyDeleted,
      window: [rewrite, "INSERT INTO $t VALUES (77, 1)"],
      expected: "difference: files_rewritten",
    },
  });
});

test("a damaged history matters within its window, and not behind it", async () => {
  const damage = [
    "DELETE FROM $t WHERE a < 10",
    "CALL ducklake_flush_inlined_data('lake', table_name => '$t')",
    "UPDATE $t SET b = 100 WHERE a BETWEEN 20 AND 24",
    "CALL ducklake_rewrite_data_files('lake', '$t', delete_threshold => 0.1)",
    "CALL ducklake_flush_inlined_data('lake', table_name => '$t')",
  ];
  await expectStates({ within: { window: damage, expected: "rebuild: history_damaged" } });
  await expectStates({
    behind: { before: [FORTY_ROWS, ...damage], window: ["DELETE FROM $t WHERE a = 30"], expected: "files" },
  });
});

test("the columns that are used must stay the same, and so must the table", async () => {
  await expectStates({
    "nothing happens while others are altered": { window: [], expected: "unchanged" },
    "rows change while others are altered": { window: ["INSERT INTO $t VALUES (100, 1)"], expected: "files" },
    "it gets a comment": { window: ["COMMENT ON TABLE $t IS 'x'"], expected: "feed" },
    "it gets a column": { window: ["ALTER TABLE $t ADD COLUMN c INTEGER"], expected: "feed" },
    "it loses a column that is not used": {
      window: ["ALTER TABLE $t DROP COLUMN b"],
      columns: ["a"],
      expected: "feed",
    },
    "it loses a column that is used": {
      window: ["ALTER TABLE $t DROP COLUMN b"],
      expected: "rebuild: source_schema_changed",
    },
    "a used column is renamed": {
      window: ["ALTER TABLE $t RENAME COLUMN b TO c"],
      expected: "rebuild: source_schema_changed",
    },
    "a used column is widened": {
      window: ["ALTER TABLE $t ALTER COLUMN a SET DATA TYPE BIGINT"],
      expected: "rebuild: source_schema_changed",
    },
    "an unused column is widened": {
      window: ["ALTER TABLE $t ALTER COLUMN a SET DATA TYPE BIGINT"],
      columns: ["B"],
      expected: "feed",
    },
    "a used column is dropped and added again": {
      window: ["ALTER TABLE $t DROP COLUMN b", "ALTER TABLE $t ADD COLUMN b BIGINT"],
      expected: "rebuild: source_schema_changed",
    },
    "it is dropped": { window: ["DROP TABLE $t"], expected: "missing" },
    "it is renamed": { window: ["ALTER TABLE $t RENAME TO $t_new"], expected: "missing" },
    "it is dropped and created again": {
      window: ["DROP TABLE $t", "CREATE TABLE $t AS SELECT 1::INTEGER AS a, 1::BIGINT AS b"],
      expected: "rebuild: source_replaced",
    },
    "it is replaced": {
      window: ["CREATE OR REPLACE TABLE $t AS SELECT 1::INTEGER AS a, 1::BIGINT AS b"],
      expected: "rebuild: source_replaced",
    },
    "its name goes to another table": {
      before: [FORTY_ROWS, "CREATE TABLE $t_b AS FROM $t"],
      window: ["ALTER TABLE $t RENAME TO $t_a", "ALTER TABLE $t_b RENAME TO $t"],
      expected: "rebuild: source_replaced",
    },
  });
});

test("snapshots that were expired within the window leave a hole in the feed", async () => {
  await lake.run("CREATE TABLE holes AS SELECT i AS a FROM range(40) r(i)", "CREATE TABLE beside AS FROM holes");
  const [cursor, beside] = [await lake.cursor("holes"), await lake.cursor("beside")];
  await lake.run("DELETE FROM holes WHERE a < 20");
  const expired = await lake.now();
  await lake.run("INSERT INTO other VALUES (1)", `CALL ducklake_expire_snapshots('lake', versions => [${expired}])`);
  // What the expired snapshot did is not known, so any table may have changed.
  for (const request of [cursor, beside]) {
    const state = await inspect({ ...request, to: await lake.now() });
    expect(state).toMatchObject({ kind: "changed", method: "difference", reason: { code: "snapshots_expired" } });
  }
});

test("an expired cursor leaves nothing to compare with, where anything changed since", async () => {
  await lake.run("CREATE TABLE lost AS SELECT i AS a FROM range(40) r(i)", "CREATE TABLE quiet AS FROM lost");
  const [lost, quiet] = [await lake.cursor("lost"), await lake.cursor("quiet")];
  await lake.run("DELETE FROM lost WHERE a < 20", `CALL ducklake_expire_snapshots('lake', versions => [${lost.from}])`);
  const to = await lake.now();
  const state = await inspect({ ...lost, to });
  expect(state).toMatchObject({ kind: "rebuild", reason: { code: "cursor_expired" } });
  expect(state.kind === "rebuild" && state.reason.text).toContain(`snapshot ${lost.from}, up to which main.lost`);
  expect(await inspect({ ...quiet, to })).toEqual({ kind: "unchanged" });
});
