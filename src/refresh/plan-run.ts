import { ChangeHistory } from "../catalog/change-history.js";
import { commitTime, currentSnapshot, requireSnapshot } from "../catalog/snapshots.js";
import { type TableName, tableAt } from "../catalog/tables.js";
import { CURSOR_EXPIRED, inspectWindow, type WindowState } from "../catalog/window.js";
import type { Engine } from "../engine/lake.js";
import type { Notify } from "../engine/notify.js";
import type { Session } from "../engine/session.js";
import { ConflictError, InternalError, type IvmError, RefreshError } from "../errors.js";
import { sourceLog, sourceOfLog } from "../log/names.js";
import { type LogState, readLogs } from "../log/registry.js";
import type { LogRoot } from "../log/root.js";
import { changesBetween, type LogRead, positionsOf } from "../log/window.js";
import { planReadsClock, sourceScansOf } from "../plan/recursion.js";
import { sameName } from "../sql/quote.js";
import type { Reason, RefreshEvent, Strategy } from "../types.js";
import type { DefinedSource } from "../view/definition.js";
import type { Layout } from "../view/layout.js";
import { LAYOUT_WITH_LOGS } from "../view/migrations.js";
import type { BuiltView, Cursor, Progress, State, StateTables, StoredView } from "../view/state.js";
import { OVERTAKEN } from "./overtaken.js";
import { SharedDeltas } from "./shared-deltas.js";
import type { Instants } from "./sources.js";
import { findTampering, type Tampering } from "./tampering.js";

/** What a run knows before it touches any view. */
export interface RunContext {
  readonly session: Session;
  readonly engine: Engine;
  readonly tables: StateTables;
  /** Where change logs are kept; undefined where none are. */
  readonly logs: LogRoot | undefined;
  /** The change logs that the lake has, by name. */
  readonly logStates: ReadonlyMap<string, LogState>;
  readonly state: State;
  readonly history: ChangeHistory;
  /** What others did to the objects that stand for views. */
  readonly tampered: Tampering;
  readonly horizon: bigint;
  /** True where nobody asked for this horizon, so that a run which another one overtakes takes a newer one. */
  readonly mayGoOn: boolean;
  /** True where cursors are moved on also where nothing changed, so that they hold no old snapshots back. */
  readonly settles: boolean;
  /** The horizon's commit time, as text with a time zone: the time for definitions that ask for it. */
  readonly instant: string;
  /** The newest snapshot when the run began: where views that this run does not move are read. */
  readonly present: bigint;
  /** Where the views that this run has moved stand, by lower-case name: the snapshots are looked up where they matter. */
  readonly moved: Map<string, { readonly snapshot: (session: Session) => Promise<bigint>; readonly built: BuiltView }>;
  /** The deltas that several views of the run read. */
  readonly shared: SharedDeltas;
  /** In a dry run: the views that the run would move, by lower-case name. */
  readonly moving: Set<string>;
  /** The views that stand at the horizon without having been moved by this run, by lower-case name. */
  readonly standing: Set<string>;
  /** Why views can't be refreshed before somebody has looked at their definitions, by lower-case name. */
  readonly broken: ReadonlyMap<string, IvmError>;
  /** Tells the caller how far the run is. */
  readonly notify: Notify<RefreshEvent>;
}

export async function startRun(
  session: Session,
  engine: Engine,
  tables: StateTables,
  toSnapshot: bigint | undefined,
  logs?: LogRoot,
): Promise<RunContext> {
  if (engine.readsTogether) session.beginReading();
  try {
    const run = await readRun(session, engine, tables, toSnapshot, logs);
    await session.endReading();
    return run;
  } catch (error) {
    await session.endReading(false);
    throw error;
  }
}

/**
 * Definitions and progress at the snapshot that views will be read at: a view that another run moves between the two
 * would be taken for standing where its rows do not stand yet.
 */
async function readState(session: Session, engine: Engine, tables: StateTables, present: bigint): Promise<State> {
  if (engine.readsTogether) return tables.readPinned(session, present);
  if (!(await tables.exists(session))) return tables.read(session);
  const existed = await tableAt(session, engine, { schema: tables.schema, table: "progress" }, present);
  return existed === undefined
    ? { layout: 0, views: [], progress: new Map(), cursors: [] }
    : tables.read(session, present);
}

async function readRun(
  session: Session,
  engine: Engine,
  tables: StateTables,
  toSnapshot: bigint | undefined,
  logs?: LogRoot,
): Promise<RunContext> {
  const present = await currentSnapshot(session);
  const horizon = toSnapshot ?? present;
  if (toSnapshot !== undefined) await requireSnapshot(session, engine, toSnapshot);
  const state = await readState(session, engine, tables, present);
  const hasLogs = logs !== undefined && state.layout >= LAYOUT_WITH_LOGS;
  const logStates = hasLogs ? await readLogs(session, tables) : new Map<string, LogState>();
  // The logs of base tables go on from where they ended.
  const ends = [...logStates.values()].filter(({ log }) => sourceOfLog(log) !== undefined).map(({ end }) => end);
  const [oldest = present] = [...state.cursors.map((cursor) => cursor.snapshot), ...ends].sort((a, b) =>
    a < b ? -1 : 1,
  );
  const history = engine.readsTogether
    ? await tables.kept.history(session, oldest, present)
    : await ChangeHistory.read(session, oldest, present);
  const tampered = await findTampering(session, engine, tables, state, history, present);
  const instant = history.timeOf(horizon) ?? (await commitTime(session, engine, horizon));
  return {
    session,
    engine,
    tables,
    logs,
    logStates,
    state,
    history,
    tampered,
    horizon,
    mayGoOn: toSnapshot === undefined,
    settles: false,
    instant,
    present,
    moved: new Map(),
    shared: new SharedDeltas(),
    moving: new Set(),
    standing: new Set(),
    broken: new Map(),
    notify: () => undefined,
  };
}

/** One source of a view in a run: its window and what the catalog says of it. */
export interface PlannedSource {
  readonly defined: DefinedSource;
  readonly table: TableName;
  readonly layout: Layout | null;
  /** Null where the view has not consumed the source yet. */
  readonly from: bigint | null;
  readonly to: bigint;
  /** The table that the cursor will stand on. */
  readonly identity: { readonly id: bigint; readonly uuid: string };
  readonly state: WindowState;
  /** Set where the cursor's snapshot was expired and the source's log tells what came since. */
  readonly logged: { readonly state: LogState; readonly read: LogRead } | null;
}

export interface PlannedView {
  readonly view: StoredView;
  readonly progress: Progress;
  readonly sources: readonly PlannedSource[];
  /** Null where there is nothing to do. */
  readonly strategy: Strategy | null;
  readonly reason: Reason | null;
  /** Set where it is computed although nothing has changed. */
  readonly upToDate?: boolean;
}

/** The times of the view's old and new state. */
export function instantsOf(run: RunContext, progress: Progress): Instants {
  return { old: progress.instant ?? run.instant, new: run.instant };
}

/** Decides from metadata alone what a view needs to come to the horizon. */
export async function planViewRun(run: RunContext, view: StoredView): Promise<PlannedView> {
  const broken = run.broken.get(view.name.toLowerCase());
  if (broken !== undefined) throw broken;
  const progress = run.state.progress.get(view.name);
  if (progress === undefined) {
    throw new InternalError("progress_missing", `View ${view.name} has no progress row in the state schema.`, {
      subject: { view: view.name },
      hint: "Apply the definitions again.",
    });
  }
  if (progress.horizon !== null && progress.horizon > run.horizon) {
    if (run.mayGoOn) throw overtaken(run, view, view, progress.horizon);
    throw new RefreshError(
      "horizon_behind",
      `View ${view.name} stands at snapshot ${progress.horizon} already and can't go back to ${run.horizon}.`,
      {
        subject: { view: view.name, snapshot: run.horizon },
        hint: "Leave out the snapshot, or name one that is not older than the view.",
      },
    );
  }
  const sources: PlannedSource[] = [];
  for (const source of view.definition.sources) sources.push(await planSource(run, view, source));
  return { view, progress, sources, ...decide(run, view, sources, progress) };
}

/** Another run was faster: `moved` stands past the horizon that `view` was to be brought to. */
export function overtaken(run: RunContext, view: StoredView, moved: StoredView, horizon: bigint): ConflictError {
  return new ConflictError(
    OVERTAKEN,
    `Another run has brought view ${moved.name} to snapshot ${horizon}, past ${run.horizon}, in the meantime.`,
    { subject: { view: view.name, snapshot: run.horizon }, hint: "Run the same command again." },
  );
}

function decide(
  { horizon, moved, tampered }: RunContext,
  view: StoredView,
  sources: readonly PlannedSource[],
  progress: Progress,
): { strategy: Strategy | null; reason: Reason | null } {
  const { definition, built } = view;
  if (built === null || progress.horizon === null) return { strategy: "initial", reason: null };
  if (built.fingerprint !== definition.fingerprint) {
    return {
      strategy: "recompute",
      reason: { code: "definition_changed", text: "the definition changed since the last refresh" },
    };
  }
  const altered = tampered.get(view.name.toLowerCase())?.tables ?? null;
  // A view that this run has moved already was put right by it.
  if (altered !== null && !moved.has(view.name.toLowerCase())) return { strategy: "recompute", reason: altered.reason };
  for (const source of sources) {
    if (source.state.kind === "rebuild") return { strategy: "recompute", reason: source.state.reason };
  }
  const fresh = sources.every((source) => source.state.kind === "unchanged");
  if (fresh && !(definition.usesTime && progress.horizon !== horizon)) return { strategy: null, reason: null };
  if (definition.refresh === "full") {
    return { strategy: "recompute", reason: { code: "refresh_full", text: "the definition asks for `refresh: full`" } };
  }
  if (definition.plan === null) return { strategy: "recompute", reason: definition.reasons[0] ?? null };
  if (progress.instant === null && planReadsClock(definition.plan)) {
    const text = "the time of the last refresh is not known";
    return { strategy: "recompute", reason: { code: "time_unknown", text } };
  }
  return { strategy: "incremental", reason: null };
}

async function planSource(run: RunContext, view: StoredView, defined: DefinedSource): Promise<PlannedSource> {
  const place = await placeOf(run, view, defined);
  const layout = place.built?.layout ?? null;
  const base = { defined, table: place.table, layout, to: place.to };
  const cursor = run.state.cursors.find((row) => row.view === view.name && row.source === defined.name);
  if (cursor === undefined) {
    const identity = await identify(run, view, defined, place);
    const state = { kind: "changed", method: "difference", reason: null, inlined: false } as const;
    return { ...base, identity, from: null, state, logged: null };
  }
  // An upstream view that this run has moved stands at a snapshot that is newer than what was read.
  await run.history.extend(run.session, place.to);
  const found = await sourceState(run, view, defined, place, cursor);
  const logged = await loggedWindow(run, view, defined, cursor, found);
  const state = logged === null ? found : changedByLog(found);
  if (state.kind === "missing") throw missing(view, defined, place.to);
  const kept = { id: cursor.tableId, uuid: cursor.tableUuid };
  const identity = state.kind === "rebuild" ? await identify(run, view, defined, place) : kept;
  return { ...base, identity, from: cursor.snapshot, state, logged };
}

/** The window in the source's log, where the cursor's own snapshot was expired; null where that does not help. */
async function loggedWindow(
  run: RunContext,
  view: StoredView,
  defined: DefinedSource,
  cursor: Cursor,
  state: WindowState,
): Promise<PlannedSource["logged"]> {
  if (state.kind !== "rebuild" || state.reason.code !== CURSOR_EXPIRED || defined.kind !== "table") return null;
  const log = run.logStates.get(sourceLog(defined.name));
  if (log === undefined) return null;
  const positions = positionsOf(log);
  if (!positions.includes(cursor.snapshot)) return null;
  if (positions.includes(run.horizon)) return { state: log, read: changesBetween(log, cursor.snapshot, run.horizon) };
  if (log.end > run.horizon) return null;
  // Where no base table has changed since, the logs are not written, and still tell all.
  const since = await inspectWindow(run.session, run.engine, run.history, {
    table: { schema: defined.schema, table: defined.table },
    from: log.end,
    to: run.horizon,
    tableId: cursor.tableId,
    tableUuid: cursor.tableUuid,
    columns: usedColumns(view, defined),
  });
  return since.kind === "unchanged" ? { state: log, read: changesBetween(log, cursor.snapshot, undefined) } : null;
}

function changedByLog(state: WindowState): WindowState {
  const reason = state.kind === "rebuild" ? state.reason : null;
  return { kind: "changed", method: "difference", reason, inlined: false };
}

async function sourceState(
  run: RunContext,
  view: StoredView,
  defined: DefinedSource,
  place: Place,
  cursor: Cursor,
): Promise<WindowState> {
  const [tableUuid = "", fingerprint] = cursor.tableUuid.split(IDENTITY_SEPARATOR);
  if (place.built !== null && fingerprint !== place.built.fingerprint) {
    const text = `${defined.name} has another definition than the rows that were consumed`;
    return { kind: "rebuild", reason: { code: "source_redefined", text } };
  }
  const columns =
    place.built === null ? usedColumns(view, defined) : place.built.layout.columns.map((column) => column.name);
  return inspectWindow(run.session, run.engine, run.history, {
    table: place.table,
    from: cursor.snapshot,
    to: place.to,
    tableId: cursor.tableId,
    tableUuid,
    columns,
  });
}

/** A view's cursor is on one table under one definition: the same table can come to stand for other visible rows. */
const IDENTITY_SEPARATOR = "/";

async function identify(
  run: RunContext,
  view: StoredView,
  defined: DefinedSource,
  place: Place,
): Promise<{ id: bigint; uuid: string }> {
  const version = await tableAt(run.session, run.engine, place.table, place.to);
  if (version === undefined) throw missing(view, defined, place.to);
  const uuid = place.built === null ? version.uuid : `${version.uuid}${IDENTITY_SEPARATOR}${place.built.fingerprint}`;
  return { id: version.id, uuid };
}

interface Place {
  readonly table: TableName;
  /** Set where the source is a materialized view. */
  readonly built: BuiltView | null;
  readonly to: bigint;
}

/** Which physical table of the lake stands for a source, and up to which snapshot it is read. */
async function placeOf(run: RunContext, view: StoredView, defined: DefinedSource): Promise<Place> {
  if (defined.kind === "table") {
    return { table: { schema: defined.schema, table: defined.table }, built: null, to: run.horizon };
  }
  const moved = run.moved.get(defined.table.toLowerCase());
  const upstream = run.state.views.find((candidate) => sameName(candidate.name, defined.table));
  const built = moved?.built ?? upstream?.built ?? null;
  if (built === null) throw missing(view, defined, run.horizon);
  const to = moved === undefined ? run.present : await moved.snapshot(run.session);
  return { table: { schema: run.tables.schema, table: built.table }, built, to };
}

/** The columns that the view's plan reads of a source; all where there is no plan. */
export function usedColumns(view: StoredView, source: DefinedSource): readonly string[] {
  const { plan } = view.definition;
  if (plan === null) return source.columns.map((column) => column.name);
  const scans = sourceScansOf(plan).filter((scan) => scan.source === source.name);
  return [...new Set(scans.flatMap((scan) => scan.columns.map((column) => column.name)))];
}

function missing(view: StoredView, source: DefinedSource, snapshot: bigint): RefreshError {
  return new RefreshError(
    "source_missing",
    `View ${view.name}: its source ${source.name} does not exist at snapshot ${snapshot}.`,
    {
      subject: { view: view.name, table: source.name, snapshot },
      hint: "Bring the table back under its name, or change the view's definition and apply it.",
    },
  );
}

/** What the views of the lake that read a source use of it together, and how many they are. */
export function readersOf(run: RunContext, source: DefinedSource): { columns: readonly string[]; readers: number } {
  const views = run.state.views.filter((view) => view.definition.sources.some(({ name }) => name === source.name));
  const columns = views.flatMap((view) => {
    const own = view.definition.sources.find(({ name }) => name === source.name);
    return own === undefined ? [] : usedColumns(view, own);
  });
  return { columns: [...new Set(columns)].sort(), readers: views.length };
}
