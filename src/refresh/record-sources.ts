import { WEIGHT } from "../catalog/consolidate.js";
import { loadSourceDelta } from "../catalog/source-delta.js";
import { type TableName, type TableVersion, tableAt, tableAtVersion } from "../catalog/tables.js";
import { inspectWindow } from "../catalog/window.js";
import { sourceLog } from "../log/names.js";
import { type LogState, readLogs } from "../log/registry.js";
import type { LogRoot } from "../log/root.js";
import { sourceLogSchema } from "../log/schema.js";
import { registerSources, type SourceRecord, sourceBeginning, sourceSegment } from "../log/source-writer.js";
import type { RunContext } from "./plan-run.js";

/** The temporary table that a base table's delta is read into before it is recorded. */
const RECORDED = "ivm_recorded_delta";

/**
 * Records what changed in the base tables of all views up to the run's horizon, before any view is refreshed. Every
 * log gets a position at the horizon, so that the cursors that this run sets are positions of the logs.
 * @param viewsMove whether the run sets any, asked where no base table has changed since the logs were written.
 */
export async function recordSources(
  run: RunContext,
  root: LogRoot,
  runId: string,
  viewsMove: () => Promise<boolean>,
): Promise<void> {
  const tables = baseTables(run);
  const logs = await readLogs(run.session, run.tables);
  const steps: (() => Promise<SourceRecord>)[] = [];
  let changed = false;
  for (const [name, table] of tables) {
    const form = await tableAt(run.session, run.engine, table, run.horizon);
    const before = logs.get(sourceLog(name));
    if (form === undefined || (before !== undefined && before.end >= run.horizon)) continue;
    const step = await planRecord(run, root, runId, { name, table, form, before });
    changed ||= step.changed;
    steps.push(step.record);
  }
  if (steps.length === 0 || !(changed || (await viewsMove()))) return;
  const records: SourceRecord[] = [];
  for (const record of steps) records.push(await record());
  await run.session.run(`DROP TABLE IF EXISTS temp.${RECORDED}`);
  await registerSources(run.session, root, runId, records);
}

/** The base tables that views read, by the names that their sources have. */
function baseTables(run: RunContext): ReadonlyMap<string, TableName> {
  const sources = run.state.views.flatMap((view) => view.definition.sources);
  return new Map(
    sources
      .filter((source) => source.kind === "table")
      .map((source) => [source.name, { schema: source.schema, table: source.table }]),
  );
}

interface Recorded {
  readonly name: string;
  readonly table: TableName;
  readonly form: TableVersion;
  readonly before: LogState | undefined;
}

async function planRecord(
  run: RunContext,
  root: LogRoot,
  runId: string,
  { name, table, form, before }: Recorded,
): Promise<{ readonly changed: boolean; readonly record: () => Promise<SourceRecord> }> {
  const { session, horizon: to } = run;
  const columns = await session.rows<{ name: string; type: string }>(
    `SELECT column_name AS name, column_type AS type FROM (DESCRIBE SELECT * FROM ${tableAtVersion(table, to)})`,
  );
  const identity = [form.uuid, ...form.columns.map((column) => String(column.id))];
  const schema = await sourceLogSchema(session, columns, identity);
  const source = { log: sourceLog(name), schema, to };
  const begin = { changed: true, record: () => sourceBeginning(session, root, runId, { ...source, before }) };
  if (before === undefined || before.schema.fingerprint !== schema.fingerprint) return begin;
  const names = columns.map((column) => column.name);
  const state = await inspectWindow(session, run.engine, run.history, {
    table,
    from: before.end,
    to,
    tableId: form.id,
    tableUuid: form.uuid,
    columns: names,
  });
  if (state.kind === "rebuild" || state.kind === "missing") return begin;
  if (state.kind === "unchanged") {
    return { changed: false, record: () => sourceSegment(session, root, runId, { ...source, before }, null) };
  }
  const record = async (): Promise<SourceRecord> => {
    const { method, reason, inlined } = state;
    const window = { table, tableId: form.id, from: before.end, to, method, reason, inlined };
    await loadSourceDelta(session, run.engine, { ...window, columns: names, target: RECORDED });
    return sourceSegment(session, root, runId, { ...source, before }, { table: RECORDED, weight: WEIGHT });
  };
  return { changed: true, record };
}
