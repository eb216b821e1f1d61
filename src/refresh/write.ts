import { randomUUID } from "node:crypto";
import { snapshotOfCommit } from "../catalog/snapshots.js";
import { WEIGHT } from "../catalog/source-delta.js";
import { CATALOG_BUSY, LOST_RACE } from "../engine/errors.js";
import { type Engine, LAKE_NAME } from "../engine/lake.js";
import { retryConflicts } from "../engine/retry.js";
import type { Session } from "../engine/session.js";
import { ConflictError, InternalError, InterruptedError, IvmError, RefreshError } from "../errors.js";
import type { LogWriter } from "../log/writer.js";
import type { ColumnId } from "../plan/relation.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";
import { besideTables } from "../view/beside.js";
import type { StoredDefinition } from "../view/definition.js";
import { isLimited, type Layout } from "../view/layout.js";
import { type BuiltView, type Progress, printCursors, type StateTables } from "../view/state.js";
import { visibleDelta, visibleSelect } from "../view/visible.js";
import { DIFFERENCE } from "./difference.js";
import { applyDifference, createTable, findVictims, type StoredTable } from "./stored-table.js";

const KEPT = "ivm_kept";
/** Runs of other views update the same table as this one, which is a conflict although their rows are others. */
const COMMIT_CONFLICTS: ReadonlySet<string> = new Set([LOST_RACE, CATALOG_BUSY]);
const q = quoteIdentifier;

/** A source's new cursor. */
interface NewCursor {
  readonly source: string;
  readonly snapshot: bigint;
  readonly tableId: bigint;
  readonly tableUuid: string;
}

export interface WriteInput {
  readonly session: Session;
  readonly engine: Engine;
  readonly state: StateTables;
  readonly definition: StoredDefinition;
  /** Where the view stood when the run was planned; another place now means that another run was faster. */
  readonly before: Progress;
  readonly horizon: bigint;
  /** The horizon's commit time. */
  readonly instant: string;
  readonly runId: string;
  readonly cursors: readonly NewCursor[];
  /** What the run's record says besides. */
  readonly record: RunRecord;
  /** Writes the view's change log; null where none is kept. */
  readonly log: LogWriter | null;
  /** True where somebody else has dropped or replaced the user-facing view. */
  readonly restoresUserView: boolean;
}

interface RunRecord {
  readonly strategy: string;
  readonly reason: string | null;
  readonly sources: string;
  readonly terms: string;
  readonly startedAt: number;
  /** What the view's refreshes cost so far, this one included, as JSON. */
  readonly costs: () => string | null;
}

export interface Written {
  readonly inserted: bigint;
  readonly deleted: bigint;
  /** Looks up the snapshot that this commit made. */
  readonly snapshot: (session: Session) => Promise<bigint>;
}

export function physicalTable(state: StateTables, name: string): string {
  return quotePath([LAKE_NAME, state.schema, name]);
}

export function physicalName(view: string): string {
  return `data_${view}`;
}

/** The tables beside a physical table, and those that hold recursions, as they stand in FROM. */
export function besidePaths(
  state: StateTables,
  layout: Layout,
  physical: string,
): { counted: readonly string[]; recursions: readonly string[] } {
  const beside = besideTables(layout, physical).map(({ name }) => physicalTable(state, name));
  const counted = beside.splice(0, (layout.counted ?? []).length);
  const recursions = (layout.recursions ?? []).map(
    (table) => (table.beside ? beside.shift() : undefined) ?? physicalTable(state, physical),
  );
  return { counted, recursions };
}

/** The physical table, and those beside it. */
function storedTables(input: WriteInput, physical: string, rebuilt: boolean): [StoredTable, ...StoredTable[]] {
  const { state, definition } = input;
  const { layout, name: view } = definition;
  // A group is found by its keys; a table that another definition filled may hold any rows.
  const keysOf = (keys: readonly ColumnId[] | undefined): readonly ColumnId[] | undefined =>
    rebuilt ? undefined : keys;
  const main = {
    view,
    table: physicalTable(state, physical),
    columns: layout.columns,
    keys: keysOf(layout.groups?.keys),
    difference: DIFFERENCE,
    victims: "ivm_victims",
  };
  const beside = besideTables(layout, physical).map(({ name, columns, keys, difference }, index) => ({
    view,
    table: physicalTable(state, name),
    columns,
    keys: keysOf(keys),
    difference,
    victims: `ivm_victims_beside${index + 1}`,
  }));
  return [main, ...beside];
}

/** Drops the tables beside the physical one that the layout does not have any more. */
async function dropBeside(input: WriteInput, replaced: BuiltView | null, physical: string): Promise<void> {
  const { session, state, definition } = input;
  if (replaced === null) return;
  const kept = new Set(besideTables(definition.layout, physical).map(({ name }) => name));
  for (const { name } of besideTables(replaced.layout, replaced.table)) {
    if (!kept.has(name)) await session.run(`DROP TABLE IF EXISTS ${physicalTable(state, name)}`);
  }
}

/** Creates the view's tables from SELECTs of their rows and puts the user-facing view over them, in one commit. */
export async function writeNew(
  input: WriteInput,
  rows: string,
  besideRows: readonly string[],
  replaced: BuiltView | null,
): Promise<Written> {
  const { session, state, definition } = input;
  const name = physicalName(definition.name);
  const table = physicalTable(state, name);
  const { layout } = definition;
  await keepVisible(input, replaced);
  return commit(input, async () => {
    const [physical, ...beside] = storedTables(input, name, false);
    await createTable(session, physical, rows);
    for (const [index, stored] of beside.entries()) await createTable(session, stored, besideRows[index] ?? "");
    await dropBeside(input, replaced, name);
    const counts = await countAgainstKept(input, replaced, table);
    await checkPrimaryKey(input, table, null);
    await logState(input, table);
    await writeUserView(input, name);
    await writeBuilt(input, { fingerprint: definition.fingerprint, layout, table: name });
    return counts;
  });
}

/** Applies DIFFERENCE to the physical table, exactly: n copies in and n copies out; and to those beside it theirs. */
export async function writeDifference(input: WriteInput, built: BuiltView, rebuilt: boolean): Promise<Written> {
  const { session, state, definition } = input;
  const table = physicalTable(state, built.table);
  const { layout } = definition;
  const tables: { stored: StoredTable; expected: bigint }[] = [];
  for (const stored of storedTables(input, built.table, rebuilt)) {
    tables.push({ stored, expected: await findVictims(session, stored) });
  }
  // Behind a LIMIT, or where the definition changed, visible rows are no function of the physical difference.
  const whole = rebuilt || isLimited(layout);
  const counts = whole ? null : await visibleChange(input);
  if (whole) await keepVisible(input, built);
  return commit(input, async () => {
    for (const { stored, expected } of tables) await applyDifference(session, stored, expected);
    const written = `SELECT * FROM temp.${q(DIFFERENCE)} WHERE ${q(WEIGHT)} > 0`;
    await checkPrimaryKey(input, table, whole ? null : written);
    if (rebuilt || input.restoresUserView) await writeUserView(input, built.table);
    if (rebuilt) {
      await writeBuilt(input, { ...built, fingerprint: definition.fingerprint, layout });
    }
    if (whole || input.log?.mode !== "append") await logState(input, table);
    return counts ?? countAgainstKept(input, built, table);
  });
}

/** Moves only the cursors: the window held no change that the view can see. */
export async function writeCursors(input: WriteInput, built: BuiltView): Promise<Written> {
  if (input.log?.mode === "append") await input.log.writeNothing();
  return commit(input, async () => {
    if (input.restoresUserView) await writeUserView(input, built.table);
    if (input.log?.mode !== "append") await logState(input, physicalTable(input.state, built.table));
    return { inserted: 0n, deleted: 0n };
  });
}

/** Counts the change of the visible rows, and writes it to the log where that stands where the view does. */
async function visibleChange(input: WriteInput): Promise<{ inserted: bigint; deleted: bigint }> {
  if (input.log?.mode !== "append") return countVisible(input);
  const rows = visibleDelta(input.definition.layout, `SELECT * FROM temp.${q(DIFFERENCE)}`, WEIGHT, true);
  return input.log.writeChange(rows, WEIGHT);
}

/** Brings the log to the visible rows as they are now, inside the transaction that made them so. */
async function logState({ log, definition }: WriteInput, table: string): Promise<void> {
  if (log === null) return;
  const rows = visibleSelect(definition.layout, table);
  await (log.mode === "begin" ? log.writeState(rows) : log.writeCatchUp(rows));
}

/** Visible rows that come and go, consolidated; physical rows can change without any visible change. */
async function countVisible(input: WriteInput): Promise<{ inserted: bigint; deleted: bigint }> {
  const { layout } = input.definition;
  const weight = q(WEIGHT);
  const columns = layout.output.map((column) => q(column.name));
  const rows = visibleDelta(layout, `SELECT * FROM temp.${q(DIFFERENCE)}`, WEIGHT, true);
  const row = await input.session.row<{ inserted: bigint | null; deleted: bigint | null }>(`
    SELECT CAST(sum(weight) FILTER (WHERE weight > 0) AS BIGINT) AS inserted, CAST(-sum(weight) FILTER (WHERE weight < 0) AS BIGINT) AS deleted
    FROM (SELECT ${columns.join(", ")}, sum(${weight}) AS weight FROM (${rows}) GROUP BY ${columns.map((_, index) => index + 1).join(", ")})`);
  return { inserted: row.inserted ?? 0n, deleted: row.deleted ?? 0n };
}

/** Keeps the visible rows of the definition that is being replaced, to tell afterwards what changed. */
async function keepVisible(input: WriteInput, replaced: BuiltView | null): Promise<void> {
  if (replaced === null) return;
  const rows = visibleSelect(replaced.layout, physicalTable(input.state, replaced.table));
  await input.session.run(`CREATE OR REPLACE TEMP TABLE ${q(KEPT)} AS ${rows}`);
}

/** What the readers of the view see come and go. Where the columns are others, every row does. */
async function countAgainstKept(
  input: WriteInput,
  replaced: BuiltView | null,
  table: string,
): Promise<{ inserted: bigint; deleted: bigint }> {
  const after = visibleSelect(input.definition.layout, table);
  const count = async (rows: string): Promise<bigint> =>
    (await input.session.row<{ n: bigint }>(`SELECT count(*) AS n FROM (${rows})`)).n;
  if (replaced === null) return { inserted: await count(after), deleted: 0n };
  const before = `SELECT * FROM temp.${q(KEPT)}`;
  const columns = (layout: Layout) => JSON.stringify(layout.output.map(({ name, type }) => ({ name, type })));
  if (columns(replaced.layout) !== columns(input.definition.layout)) {
    return { inserted: await count(after), deleted: await count(before) };
  }
  return {
    inserted: await count(`(${after}) EXCEPT ALL (${before})`),
    deleted: await count(`(${before}) EXCEPT ALL (${after})`),
  };
}

/** @throws RefreshError `primary_key_violated` with a sample, before anything is committed. */
async function checkPrimaryKey(input: WriteInput, table: string, written: string | null): Promise<void> {
  const { session, definition } = input;
  if (definition.primaryKey.length === 0) return;
  const { layout } = definition;
  const keys = definition.primaryKey.map(q);
  const all = `(${visibleSelect(layout, table)})`;
  const touched =
    written === null
      ? ""
      : `SEMI JOIN (${visibleDelta(layout, written, WEIGHT, true)}) AS written ON ${keys.map((key) => `rows.${key} IS NOT DISTINCT FROM written.${key}`).join(" AND ")}`;
  const [violation] = await session.rows<{ sample: string; copies: bigint }>(`
    SELECT CAST(struct_pack(${definition.primaryKey.map((key) => `${q(key)} := any_value(rows.${q(key)})`).join(", ")}) AS VARCHAR) AS sample, count(*) AS copies
    FROM ${all} AS rows ${touched}
    GROUP BY ${keys.map((key) => `rows.${key}`).join(", ")}
    HAVING count(*) > 1 OR ${keys.map((key) => `any_value(rows.${key}) IS NULL`).join(" OR ")} LIMIT 1`);
  if (violation === undefined) return;
  const why = violation.copies > 1n ? `${violation.copies} rows have the key` : "a row has a NULL in the key";
  throw new RefreshError(
    "primary_key_violated",
    `View ${definition.name}: ${why} ${violation.sample}. Nothing was written.`,
    {
      subject: { view: definition.name },
      hint: `Correct the declared primary_key (${definition.primaryKey.join(", ")}) or the query.`,
    },
  );
}

async function writeUserView(input: WriteInput, table: string): Promise<void> {
  const { session, engine, state, definition } = input;
  const schema = engine.config.schema ?? "main";
  if (schema !== "main") await session.run(`CREATE SCHEMA IF NOT EXISTS ${quotePath([LAKE_NAME, schema])}`);
  // Without the catalog's name, so that it works under whatever name a reader attaches the lake.
  const select = visibleSelect(definition.layout, quotePath([state.schema, table]));
  await session.run(`CREATE OR REPLACE VIEW ${quotePath([LAKE_NAME, schema, definition.name])} AS ${select}`);
}

async function writeBuilt(input: WriteInput, built: BuiltView): Promise<void> {
  const changed = await input.session.change(`UPDATE ${input.state.table("views")} SET built = $1 WHERE name = $2`, [
    JSON.stringify(built),
    input.definition.name,
  ]);
  if (changed !== 1n) throw moved(input.definition.name);
}

function moved(view: string): ConflictError {
  return new ConflictError("moved", `View ${view} was moved by another run in the meantime.`, {
    subject: { view },
    hint: "Run the same command again.",
  });
}

function tooOld(view: string): ConflictError {
  return new ConflictError("log_file_old", `View ${view}: what was written for its log may be swept by now.`, {
    subject: { view },
    hint: "Run the same command again.",
  });
}

/**
 * Runs the writes, the cursors, the run's record and the commit's message in one transaction of the lake. What it
 * writes was computed before, from snapshots that stay as they are and for the view as it stands in its progress row: so
 * where another run's commit came first, the transaction alone is run again, as long as that row is still the same.
 */
async function commit(
  input: WriteInput,
  write: () => Promise<{ inserted: bigint; deleted: bigint }>,
): Promise<Written> {
  const { session, state, definition, before, horizon, runId } = input;
  const commitId = randomUUID();
  const transaction = async () => {
    // In SQLite everybody waits for a transaction that has read, so one that will come to nothing ends at once.
    if (!input.engine.readsTogether && !(await standsAsPlanned(input))) throw moved(definition.name);
    const written = await write();
    // This row is updated in place by every run that moves the view: of two at once, one gets a conflict. Where another
    // run has moved the view before, the row is not the one that was planned with.
    const updated = await session.change(
      `UPDATE ${state.table("progress")} SET horizon = $1, run_id = $2, instant = $3, cursors = $4, costs = $5, updated_at = now()
       WHERE view = $6 AND ${UNMOVED}`,
      [
        horizon,
        runId,
        input.instant,
        printCursors(input.cursors),
        input.record.costs(),
        definition.name,
        before.horizon,
        before.runId,
      ],
    );
    if (updated !== 1n) throw moved(definition.name);
    await writeRun(input, written);
    await input.log?.register();
    await state.commitMessage(session, `refresh ${definition.name} to ${horizon}`, {
      commit: commitId,
      run: runId,
      view: definition.name,
      horizon,
      strategy: input.record.strategy,
      sources: JSON.parse(input.record.sources) as unknown,
    });
    return written;
  };
  const once = (attempt: number) => {
    if (attempt > 1 && input.log?.lasts === false) throw tooOld(definition.name);
    return input.engine
      .committing(() => session.transaction(transaction))
      .catch(async (error: unknown) => {
        throw await orMoved(input, error);
      });
  };
  const { patience, signal } = session;
  // A log that is begun or caught up is read from files that may be gone by then.
  const isRepeatable = input.log === null || input.log.mode === "append";
  const codes = isRepeatable ? COMMIT_CONFLICTS : new Set<string>();
  const counts = await retryConflicts(once, async () => undefined, { patience, signal, codes });
  let snapshot: Promise<bigint> | undefined;
  const lookUp = (own: Session): Promise<bigint> => (snapshot ??= snapshotOf(input, own, commitId));
  return { ...counts, snapshot: lookUp };
}

const UNMOVED = "horizon IS NOT DISTINCT FROM CAST($7 AS BIGINT) AND run_id IS NOT DISTINCT FROM CAST($8 AS VARCHAR)";

async function standsAsPlanned({ session, state, definition, before }: WriteInput): Promise<boolean> {
  const [progress] = await session.rows<Pick<Progress, "horizon" | "runId">>(
    `SELECT horizon, run_id AS "runId" FROM ${state.table("progress")} WHERE view = $1`,
    [definition.name],
  );
  return progress?.horizon === before.horizon && progress.runId === before.runId;
}

/** A view that another run has moved may fail in any way: what was planned for it does not fit any more. */
async function orMoved(input: WriteInput, error: unknown): Promise<unknown> {
  if (!(error instanceof IvmError) || error instanceof ConflictError || error instanceof InterruptedError) return error;
  const stands = await standsAsPlanned(input).catch(() => true);
  return stands ? error : moved(input.definition.name);
}

/** The time of a moment of `performance.now()`, as SQL. */
export function timeOf(moment: number): string {
  return `to_timestamp(${(performance.timeOrigin + moment) / 1000})`;
}

async function writeRun(input: WriteInput, written: { inserted: bigint; deleted: bigint }): Promise<void> {
  const { record } = input;
  await input.session.run(
    `INSERT INTO ${input.state.table("runs")}
       (run_id, view, horizon, instant, strategy, reason, sources, terms, rows_inserted, rows_deleted, elapsed_ms, from_horizon, started_at, finished_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ${timeOf(record.startedAt)}, now())`,
    [
      input.runId,
      input.definition.name,
      input.horizon,
      input.instant,
      record.strategy,
      record.reason,
      record.sources,
      record.terms,
      written.inserted,
      written.deleted,
      performance.now() - record.startedAt,
      input.before.horizon,
    ],
  );
}

/** The snapshot of our own commit, found by its id: the newest one may be another writer's. */
async function snapshotOf(input: WriteInput, session: Session, commitId: string): Promise<bigint> {
  const snapshot = await snapshotOfCommit(session, input.engine, input.horizon, commitId);
  if (snapshot === undefined) {
    throw new InternalError(
      "commit_lost",
      `View ${input.definition.name}: its commit ${commitId} is not in the lake's history.`,
      {
        subject: { view: input.definition.name },
        hint: "Run `verify`, and report this with the lake's catalog type.",
      },
    );
  }
  return snapshot;
}
