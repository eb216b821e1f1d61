import { commitTime, currentSnapshot, existingSnapshots } from "../catalog/snapshots.js";
import { tableAtVersion } from "../catalog/tables.js";
import type { Engine } from "../engine/lake.js";
import { notifier } from "../engine/notify.js";
import type { Session } from "../engine/session.js";
import { ConflictError, LakeError, RefreshError } from "../errors.js";
import { hasRecursion } from "../sql/ast.js";
import { quoteIdentifier, sameName } from "../sql/quote.js";
import type { VerifyOptions, VerifyResult } from "../types.js";
import type { State, StateTables, StoredView } from "../view/state.js";
import { visibleSelect } from "../view/visible.js";
import { namedRows, pinnedStatement, statementOf } from "./compute.js";
import { notBuilt, selectViews } from "./order.js";
import { planViewRun, startRun } from "./plan-run.js";
import { errorResult } from "./results.js";
import { type RunSource, statementSql } from "./sources.js";

/** Floating-point columns are equal where they differ by no more than this share of the larger value. */
const FLOAT_TOLERANCE = 1e-9;
/** … or by no more than this, where values that cancel out leave a rest that depends on their order. */
const FLOAT_REST = 1e-12;
const SHOWN_DIFFERENCES = 20;
const DIFFERENCES = "ivm_verify";
const q = quoteIdentifier;

/** Recomputes views from the base tables at their own horizons and compares, as bags, with what they hold. */
export async function verifyViews(
  session: Session,
  engine: Engine,
  tables: StateTables,
  options: VerifyOptions,
): Promise<VerifyResult[]> {
  const asked = options.views;
  const notify = notifier(options);
  const { state, tampered } = await startRun(session, engine, tables, undefined);
  const all = selectViews(state.views, asked);
  const wanted = asked === undefined ? all : all.filter((view) => asked.some((name) => sameName(name, view.name)));
  const results: VerifyResult[] = [];
  for (const [index, { name }] of wanted.entries()) {
    const position = { number: index + 1, of: wanted.length };
    notify({ kind: "view_started", view: name, position });
    const readers = tampered.get(name.toLowerCase())?.userView ?? null;
    const result =
      readers === null
        ? await engine.rules.readingLimits(session, () => verifyView(session, engine, tables, name))
        : userViewAltered(name, engine.config.schema ?? "main");
    results.push(result);
    notify({ kind: "view_finished", view: name, position, result });
  }
  return results;
}

async function verifyView(session: Session, engine: Engine, tables: StateTables, name: string): Promise<VerifyResult> {
  const base = { view: name, tolerance: FLOAT_TOLERANCE };
  const failed = { ...base, ok: false, horizon: null, rows: 0n, differences: [], differenceCount: 0n };
  try {
    // The view's place and its content are read at one snapshot, so a refresh in the meantime does no harm.
    const present = await currentSnapshot(session);
    const state = await tables.read(session, present);
    const [view] = state.views.filter((candidate) => candidate.name === name);
    const horizon = state.progress.get(name)?.horizon ?? null;
    if (view === undefined || view.built === null || horizon === null) throw notBuilt(name);
    const at = await comparableSnapshot(session, engine, tables, view, horizon, present);
    const instant = await commitTime(session, engine, at);
    const expected = namedRows(view.definition, await expandedSql(session, state, view, at, instant, []));
    const physical = tableAtVersion({ schema: tables.schema, table: view.built.table }, present);
    const actual = visibleSelect(view.built.layout, physical);
    // The definitions that it reads of are written out in it.
    const writtenOut = selectViews(state.views, [name]).map(({ definition }) => statementOf(definition));
    const work = (): Promise<bigint> => compare(session, view, expected, actual);
    const differenceCount = await (writtenOut.some(hasRecursion) ? engine.rules.recursing(session, work) : work());
    const differences = await sample(session, view);
    await session.run(`DROP TABLE temp.${q(DIFFERENCES)}`);
    const row = await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM (${actual})`);
    return { ...base, ok: differenceCount === 0n, horizon, rows: row.n, differences, differenceCount, error: null };
  } catch (error) {
    session.checkSignal();
    if (error instanceof ConflictError) throw error;
    return { ...failed, error: errorResult(error) };
  }
}

/** The view's horizon, or, where that snapshot was expired, the present one if the sources are still the same. */
async function comparableSnapshot(
  session: Session,
  engine: Engine,
  tables: StateTables,
  view: StoredView,
  horizon: bigint,
  present: bigint,
): Promise<bigint> {
  if ((await existingSnapshots(session, engine, [horizon])).has(horizon)) return horizon;
  const run = await startRun(session, engine, tables, present);
  for (const candidate of selectViews(run.state.views, [view.name])) {
    if ((await planViewRun(run, candidate)).strategy !== null) throw horizonExpired(view.name, horizon);
  }
  return present;
}

/** Whatever its rows are, readers do not get them. */
function userViewAltered(view: string, schema: string): VerifyResult {
  const error = new RefreshError(
    "user_view_altered",
    `View ${view}: something else has dropped or replaced the user-facing view ${schema}.${view}.`,
    { subject: { view }, hint: "Refresh it: that writes the user-facing view anew." },
  );
  const nothing = { horizon: null, rows: 0n, differences: [], differenceCount: 0n };
  return { view, ok: false, ...nothing, tolerance: FLOAT_TOLERANCE, error: errorResult(error) };
}

function horizonExpired(view: string, horizon: bigint): LakeError {
  return new LakeError(
    "snapshot_missing",
    `View ${view} stands at snapshot ${horizon}, which was expired, so it can't be recomputed there.`,
    {
      subject: { view, snapshot: horizon },
      hint: "Refresh the view and verify it again.",
    },
  );
}

/** The view's definition with every view below it written out, down to the base tables at the horizon. */
async function expandedSql(
  session: Session,
  state: State,
  view: StoredView,
  horizon: bigint,
  instant: string,
  path: readonly string[],
): Promise<string> {
  if (view.built === null || view.built.fingerprint !== view.definition.fingerprint) {
    throw new RefreshError(
      "definition_pending",
      `View ${view.name} has a new definition that no refresh has built yet.`,
      {
        subject: { view: view.name },
        hint: "Refresh it first.",
      },
    );
  }
  if (path.includes(view.name)) throw new TypeError(`stored definitions form a circle at ${view.name}`);
  const upstream = new Map<string, string>();
  const sources = new Map<string, RunSource>();
  for (const source of view.definition.sources) {
    const below =
      source.kind === "view" ? state.views.find((candidate) => sameName(candidate.name, source.table)) : undefined;
    if (below !== undefined) {
      const sql = await expandedSql(session, state, below, horizon, instant, [...path, view.name]);
      upstream.set(source.name, namedRows(below.definition, sql));
    }
    sources.set(source.name, {
      name: source.name,
      table: source,
      layout: null,
      from: horizon,
      to: horizon,
      delta: null,
      oldLost: false,
    });
  }
  const statement = pinnedStatement(view.definition, instant);
  return statementSql(session, statement, sources, (source) => {
    const select = upstream.get(source.name);
    return select === undefined ? { table: source.table, version: horizon } : { select };
  });
}

/** Fills DIFFERENCES with rows whose weight says how many copies the view has too many (+) or lacks (−). */
async function compare(session: Session, view: StoredView, expected: string, actual: string): Promise<bigint> {
  const columns = view.definition.columns;
  const names = columns.map((column) => q(column.name));
  const list = names.join(", ");
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(DIFFERENCES)} AS
    SELECT ${list}, CAST(sum(_ivm_sign) AS BIGINT) AS _ivm_weight
    FROM (SELECT ${list}, 1 AS _ivm_sign FROM (${actual}) UNION ALL SELECT ${list}, -1 FROM (${expected}))
    GROUP BY ${names.map((_, index) => index + 1).join(", ")} HAVING sum(_ivm_sign) <> 0`);
  const floats = columns
    .filter((column) => column.type === "DOUBLE" || column.type === "FLOAT")
    .map((column) => q(column.name));
  if (floats.length > 0) await forgiveFloats(session, names, floats);
  const row = await session.row<{ n: bigint | null }>(
    `SELECT CAST(sum(abs(_ivm_weight)) AS BIGINT) AS n FROM temp.${q(DIFFERENCES)}`,
  );
  return row.n ?? 0n;
}

/**
 * Takes out pairs of rows that differ only in floating-point columns and there within the tolerance: the order of
 * additions is not the same in two evaluations. Rows are paired by their other columns, in the order of the floats.
 */
async function forgiveFloats(session: Session, names: readonly string[], floats: readonly string[]): Promise<void> {
  const exact = names.filter((name) => !floats.includes(name));
  const table = `temp.${q(DIFFERENCES)}`;
  const number = `row_number() OVER (${exact.length === 0 ? "" : `PARTITION BY ${exact.join(", ")} `}ORDER BY ${floats.join(", ")}) AS _ivm_number`;
  const side = (sign: string): string =>
    `(SELECT *, ${number} FROM (SELECT * EXCLUDE (_ivm_weight), unnest(range(abs(_ivm_weight))) AS _ivm_copy FROM ${table} WHERE _ivm_weight ${sign} 0))`;
  const same = [
    ...exact.map((name) => `_ivm_left.${name} IS NOT DISTINCT FROM _ivm_right.${name}`),
    "_ivm_left._ivm_number = _ivm_right._ivm_number",
  ];
  const near = floats.map(
    (name) =>
      `(_ivm_left.${name} IS NOT DISTINCT FROM _ivm_right.${name} OR abs(_ivm_left.${name} - _ivm_right.${name}) <= greatest(${FLOAT_REST}, ${FLOAT_TOLERANCE} * greatest(abs(_ivm_left.${name}), abs(_ivm_right.${name}))))`,
  );
  const list = (alias: string): string => names.map((name) => `${alias}.${name}`).join(", ");
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(`${DIFFERENCES}_kept`)} AS
    WITH joined AS (
      SELECT _ivm_left._ivm_number AS _ivm_ln, _ivm_right._ivm_number AS _ivm_rn, coalesce(${near.join(" AND ")}, false) AS _ivm_near, _ivm_left, _ivm_right
      FROM ${side(">")} AS _ivm_left FULL JOIN ${side("<")} AS _ivm_right ON ${same.join(" AND ")}
    )
    SELECT ${list("_ivm_left")}, 1 AS _ivm_weight FROM joined WHERE _ivm_ln IS NOT NULL AND NOT (_ivm_rn IS NOT NULL AND _ivm_near)
    UNION ALL
    SELECT ${list("_ivm_right")}, -1 FROM joined WHERE _ivm_rn IS NOT NULL AND NOT (_ivm_ln IS NOT NULL AND _ivm_near)`);
  await session.run(`CREATE OR REPLACE TEMP TABLE ${q(DIFFERENCES)} AS SELECT * FROM temp.${q(`${DIFFERENCES}_kept`)}`);
  await session.run(`DROP TABLE temp.${q(`${DIFFERENCES}_kept`)}`);
}

async function sample(session: Session, view: StoredView): Promise<VerifyResult["differences"]> {
  const names = view.definition.columns.map((column) => column.name);
  const columns = names.map((name) => `CAST(${q(name)} AS VARCHAR) AS ${q(name)}`);
  const rows = await session.rows<Record<string, string | bigint | null>>(
    `SELECT ${columns.join(", ")}, CAST(_ivm_weight AS BIGINT) AS _ivm_weight FROM temp.${q(DIFFERENCES)} ORDER BY ALL LIMIT ${SHOWN_DIFFERENCES}`,
  );
  return rows.map(({ _ivm_weight, ...row }) => ({
    weight: _ivm_weight as bigint,
    row: row as Record<string, string | null>,
  }));
}
