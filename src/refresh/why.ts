import { changesOfTable, existingSnapshots } from "../catalog/snapshots.js";
import { tableAt } from "../catalog/tables.js";
import { restrictTo } from "../delta/restrict.js";
import { ConfigError, IvmError } from "../errors.js";
import { type Lineage, lineageOf } from "../plan/lineage.js";
import { sourceScansOf } from "../plan/recursion.js";
import {
  type ColumnId,
  ColumnIds,
  columnExpression,
  outputOf,
  type Relation,
  type Scan,
  scansOf,
} from "../plan/relation.js";
import { renderRelation } from "../render/relation.js";
import { quoteIdentifier as q, quoteLiteral, sameName } from "../sql/quote.js";
import { didYouMean } from "../suggest.js";
import type { RunRecord, TextRow, WhyChange, WhyOptions, WhyResult, WhySource } from "../types.js";
import type { TypedColumn, ViewPlan } from "../view/plan-view.js";
import type { BuiltView, StoredView } from "../view/state.js";
import { visibleSelect } from "../view/visible.js";
import { readHistory } from "./history.js";
import { notBuilt } from "./order.js";
import { besidePaths, physicalTable } from "./physical.js";
import { instantsOf, type PlannedSource, type PlannedView, planViewRun, type RunContext } from "./plan-run.js";
import { heldRows } from "./recursion.js";
import { type OwnRows, type RunSource, SourceLeaves } from "./sources.js";

const LIMIT = 20;
/** Of so many of the newest snapshots that changed a source the changes are looked for. */
const SNAPSHOTS = 50;
/** Of so many of the newest runs it is known what they applied. */
const RUNS = 1000;

/** From rows of a view to the source rows, snapshots and runs that made or changed them. */
export async function whyRows(run: RunContext, view: StoredView, options: WhyOptions): Promise<WhyResult> {
  const { built, definition } = view;
  if (built === null) throw notBuilt(view.name);
  const limit = options.limit ?? LIMIT;
  const key = await checkedKey(run, view, options.key);
  const planned = await planViewRun(run, view);
  const asked = await askedRows(run, built, key, limit);
  const base = { view: view.name, horizon: planned.progress.horizon, ...asked };
  const note = untraceable(view, built);
  if (note !== null || definition.plan === null) return { ...base, sources: [], note };
  const runs = await readHistory(run.session, run.tables, { view: view.name, limit: RUNS });
  const read = await readVersions(run, planned);
  const question = { run, planned, plan: definition.plan, built, key, limit, runs, read };
  const sources: WhySource[] = [];
  for (const scan of sourceScansOf(definition.plan)) sources.push(await explainSource(question, scan));
  return { ...base, sources, note: null };
}

function untraceable({ definition }: StoredView, built: BuiltView): string | null {
  if (definition.plan === null) {
    return `the view is recomputed as a whole, so its rows can't be traced: ${definition.reasons[0]?.text ?? "its form has no rule"}`;
  }
  if (built.fingerprint === definition.fingerprint) return null;
  return "the view has a new definition that no refresh has built yet";
}

/** A column of the view with the value that is asked for, as SQL. */
interface KeyPart {
  readonly column: TypedColumn;
  readonly position: number;
  readonly value: string;
}

async function checkedKey(run: RunContext, view: StoredView, key: WhyOptions["key"]): Promise<KeyPart[]> {
  const { columns } = view.definition;
  const names = columns.map(({ name }) => name);
  const invalid = (what: string, name = "", cause?: unknown): ConfigError => {
    const hint = didYouMean(name, names, "Columns of the view");
    return new ConfigError("key_invalid", `View ${view.name}: ${what}`, { subject: { view: view.name }, hint, cause });
  };
  const parts: KeyPart[] = [];
  for (const [name, given] of Object.entries(key)) {
    const position = columns.findIndex((column) => sameName(column.name, name));
    const column = columns[position];
    if (column === undefined) throw invalid(`it has no column ${name}.`, name);
    const value = `CAST(${given === null ? "NULL" : quoteLiteral(String(given))} AS ${column.type})`;
    try {
      await run.session.run(`SELECT ${value}`);
    } catch (error) {
      throw invalid(`the value of ${name} is not of the type ${column.type}.`, name, error);
    }
    parts.push({ column, position, value });
  }
  if (parts.length === 0) throw invalid("the key names no column.");
  return parts;
}

async function askedRows(
  run: RunContext,
  built: BuiltView,
  key: readonly KeyPart[],
  limit: number,
): Promise<Pick<WhyResult, "rows" | "rowCount">> {
  const rows = visibleSelect(built.layout, physicalTable(run.tables, built.table));
  const names = built.layout.output.map(({ name }) => name);
  return listed(run, `SELECT ${textColumns(names, names)} FROM (${rows}) WHERE ${matchOf(key)}`, limit);
}

function matchOf(key: readonly KeyPart[]): string {
  return key.map(({ column, value }) => `${q(column.name)} IS NOT DISTINCT FROM ${value}`).join(" AND ");
}

function textColumns(columns: readonly string[], names: readonly string[]): string {
  return columns.map((column, index) => `CAST(${q(column)} AS VARCHAR) AS ${q(names[index] ?? column)}`).join(", ");
}

const COUNT = "_ivm_count";

async function listed(run: RunContext, rows: string, limit: number): Promise<{ rows: TextRow[]; rowCount: bigint }> {
  const found = await run.session.rows<Record<string, string | null | bigint>>(
    `SELECT *, count(*) OVER () AS ${q(COUNT)} FROM (${rows}) ORDER BY ALL LIMIT ${limit}`,
  );
  return {
    rowCount: BigInt(found[0]?.[COUNT] ?? 0),
    rows: found.map(({ [COUNT]: _, ...row }) => row as TextRow),
  };
}

/** The snapshots at which the view has consumed its sources; where they were expired, the present ones. */
async function readVersions({ session, engine }: RunContext, { sources }: PlannedView): Promise<Question["read"]> {
  const cursors = sources.map(({ from, to }) => from ?? to);
  const kept = await existingSnapshots(session, engine, cursors);
  return new Map(
    sources.map(({ defined, to }, index) => {
      const cursor = cursors[index] ?? to;
      return [defined.name, { cursor, snapshot: kept.has(cursor) ? cursor : to }];
    }),
  );
}

interface Question {
  /** By source, where the view stands and where the source is read. */
  readonly read: ReadonlyMap<string, { readonly cursor: bigint; readonly snapshot: bigint }>;
  readonly run: RunContext;
  readonly planned: PlannedView;
  readonly plan: ViewPlan;
  readonly built: BuiltView;
  readonly key: readonly KeyPart[];
  readonly limit: number;
  readonly runs: readonly RunRecord[];
}

async function explainSource(question: Question, scan: Scan): Promise<WhySource> {
  const { run, planned, plan, built, limit } = question;
  const source = planned.sources.find(({ defined }) => defined.name === scan.source);
  const read = question.read.get(scan.source);
  if (source === undefined || read === undefined)
    throw new TypeError(`the plan reads ${scan.source}, which is no source of the view`);
  const { cursor, snapshot } = read;
  const { alias } = scan;
  const base = { source: scan.source, alias, kind: source.defined.kind, snapshot };
  const none = (note: string): WhySource => ({ ...base, traced: "none", note, rowCount: 0n, rows: [], changes: [] });
  if (!scansOf(plan.relation).some(({ occurrence }) => occurrence === scan.occurrence)) {
    return none("its rows come through a recursion, which keeps no way from a row to those that it was made of");
  }
  const ids = new ColumnIds(plan.nextId);
  const names = source.defined.columns.map(({ name }) => name);
  const lineage = lineageOf(plan.relation, scan.occurrence, names, ids);
  if (lineage === null) return none("rows are in the view because nothing matches them here");
  const known = question.key.filter(({ position }) => outputOf(lineage.relation).includes(plan.output[position] ?? ""));
  if (known.length === 0) {
    return none("the key is computed from its rows or from others, and does not tell which of them were read");
  }
  const at = (relation: Relation, version: bigint): string =>
    sourceRowsAt(question, source, relation, lineage, version);
  const shown = shownColumns(plan, built, lineage);
  const present = cut(lineage, shown, presentRows(question, shown), ids);
  const { rows, rowCount } = await listed(run, `SELECT DISTINCT * FROM (${at(present, snapshot)})`, limit);
  const exact = lineage.exact && known.length === question.key.length;
  // Rows that are not in the view any more had other values in its other columns.
  const asked = known.map(({ column, position }) => ({ id: plan.output[position] ?? "", name: column.name }));
  const values = known.map(({ column, value }) => `${value} AS ${q(column.name)}`);
  const everSince = cut(lineage, asked, `SELECT ${values.join(", ")}`, ids);
  const changes = await changesOf(question, source, snapshot, (version) => at(everSince, version));
  const expired = `snapshot ${cursor} was expired, so its rows are shown as they are now`;
  const notes = [...(cursor === snapshot ? [] : [expired]), ...changes.notes];
  return {
    ...base,
    traced: exact ? "rows" : "candidates",
    note: notes.length === 0 ? null : notes.join("; "),
    rowCount,
    rows,
    changes: changes.changes,
  };
}

/** A column of the view that can be traced, by its id in the plan and its name. */
interface ShownColumn {
  readonly id: ColumnId;
  readonly name: string;
}

function shownColumns(plan: ViewPlan, built: BuiltView, lineage: Lineage): ShownColumn[] {
  const known = outputOf(lineage.relation);
  return plan.output.flatMap((id, position) => {
    const name = built.layout.output[position]?.name;
    return name !== undefined && known.includes(id) ? [{ id, name }] : [];
  });
}

/** What can be traced of the asked rows that are in the view. */
function presentRows({ run, built, key }: Question, columns: readonly ShownColumn[]): string {
  const rows = visibleSelect(built.layout, physicalTable(run.tables, built.table));
  return `SELECT ${columns.map(({ name }) => q(name)).join(", ")} FROM (${rows}) WHERE ${matchOf(key)}`;
}

/** The lineage cut down to rows with the values of some SELECT, which are pushed down to the tables. */
function cut(lineage: Lineage, columns: readonly ShownColumn[], values: string, ids: ColumnIds): Relation {
  const keys = columns.map(({ name }) => ids.create(name));
  const named = columns.map(({ name }, index) => `${q(name)} AS ${q(keys[index] ?? "")}`).join(", ");
  const asked: Relation = {
    kind: "shared",
    name: ids.create("asked"),
    input: { kind: "constant", sql: `SELECT DISTINCT ${named} FROM (${values})`, columns: keys },
  };
  const pairs = columns.map(({ id }, index) => [columnExpression(id), keys[index] ?? ""] as const);
  return restrictTo(lineage.relation, asked, pairs);
}

/** A SELECT of the traced rows as text, with one source at some snapshot and all others where the view has consumed them. */
function sourceRowsAt(
  { run, planned, plan, built, read }: Question,
  traced: PlannedSource,
  relation: Relation,
  lineage: Lineage,
  version: bigint,
): string {
  const sources = new Map<string, RunSource>();
  for (const source of planned.sources) {
    const { name } = source.defined;
    const to = read.get(name)?.snapshot ?? source.to;
    const from = source === traced ? version : to;
    sources.set(name, { name, table: source.table, layout: source.layout, from, to, delta: null, oldLost: false });
  }
  const own = new Map<string, OwnRows>();
  const { recursions } = besidePaths(run.tables, built.layout, built.table);
  for (const recursion of plan.recursions ?? []) {
    const index = (built.layout.recursions ?? []).findIndex(({ source }) => source === recursion.source);
    const table = built.layout.recursions?.[index];
    if (table === undefined) continue;
    const held = heldRows(recursion, table, recursions[index] ?? "");
    own.set(recursion.source, { old: held, new: held, delta: null });
  }
  const { old } = instantsOf(run, planned.progress);
  const rows = renderRelation(relation, new SourceLeaves(sources, { old, new: old }, own));
  const columns = textColumns(
    lineage.source.map(({ id }) => id),
    lineage.source.map(({ name }) => name),
  );
  return `SELECT ${columns} FROM (\n${rows}\n)`;
}

/** What came and went of the traced rows in the newest snapshots that changed their source. */
async function changesOf(
  { run, limit, runs }: Question,
  source: PlannedSource,
  upTo: bigint,
  at: (version: bigint) => string,
): Promise<{ changes: WhyChange[]; notes: string[] }> {
  const snapshots = await changesOfTable(run.session, source.identity.id, upTo, SNAPSHOTS);
  const changes: WhyChange[] = [];
  for (const { snapshot, before, at: time } of snapshots) {
    if (changes.length >= limit) break;
    try {
      const earlier = await tableAt(run.session, run.engine, source.table, before);
      const there = earlier !== undefined && earlier.id === source.identity.id;
      const gone = there ? `UNION ALL SELECT *, -1 FROM (${at(before)})` : "";
      const found = await run.session.rows<Record<string, string | null> & { _ivm_sign: number }>(
        `SELECT * EXCLUDE (_ivm_sign), sign(sum(_ivm_sign)) AS _ivm_sign FROM (SELECT *, 1 AS _ivm_sign FROM (${at(snapshot)}) ${gone})
         GROUP BY ALL HAVING sum(_ivm_sign) <> 0 ORDER BY ALL LIMIT ${limit - changes.length}`,
      );
      const applied = runOf(runs, source.defined.name, snapshot);
      for (const { _ivm_sign: sign, ...row } of found) {
        const change = sign > 0 ? ("inserted" as const) : ("deleted" as const);
        changes.push({ snapshot, at: time, change, row, run: applied });
      }
    } catch (error) {
      if (!(error instanceof IvmError) || error.code !== "engine_error") throw error;
      return {
        changes,
        notes: [`at snapshot ${before} the source had other columns, so changes are told from there on`],
      };
    }
  }
  return { changes, notes: [] };
}

/** The first run whose window of the source holds the snapshot. */
function runOf(runs: readonly RunRecord[], source: string, snapshot: bigint): WhyChange["run"] {
  const holds = ({ status, sources }: RunRecord): boolean =>
    status === "refreshed" &&
    sources.some((own) => own.source === source && (own.from ?? -1n) < snapshot && snapshot <= own.to);
  const found = runs.findLast(holds);
  return found === undefined ? null : { runId: found.runId, startedAt: found.startedAt, strategy: found.strategy };
}
