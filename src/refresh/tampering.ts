/**
 * What somebody else did to the objects that stand for a view: its physical tables, which only its own refreshes may
 * write to, and the user-facing view over them.
 */
import type { ChangeHistory } from "../catalog/change-history.js";
import { type StandingObject, standingObjects } from "../catalog/standing.js";
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { RefreshError } from "../errors.js";
import { sameName } from "../sql/quote.js";
import type { Reason } from "../types.js";
import { besideTables } from "../view/beside.js";
import type { Layout } from "../view/layout.js";
import type { State, StateTables, StoredView } from "../view/state.js";
import { TABLE_ALTERED } from "./stored-table.js";

export interface TamperedView {
  /** Set where the view's tables no longer hold what its refreshes wrote. */
  readonly tables: {
    readonly reason: Reason;
    /** True where rows can't even be compared: a table is gone, or its columns are others. */
    readonly unreadable: boolean;
  } | null;
  /** `gone`: dropped, or replaced by another view; `taken`: a table stands in its place. */
  readonly userView: "gone" | "taken" | null;
}

/** By lower-case name; views that nobody has touched are not in it. */
export type Tampering = ReadonlyMap<string, TamperedView>;

/** Told from the catalog and from the history since each view's horizon; what was expired of that is not known. */
export async function findTampering(
  session: Session,
  engine: Engine,
  tables: StateTables,
  state: State,
  history: ChangeHistory,
  present: bigint,
): Promise<Tampering> {
  const built = state.views.filter((view) => view.built !== null);
  if (!mayBeTampered(state, built, history, present)) return new Map();
  const schema = engine.config.schema ?? "main";
  const names = built.flatMap((view) => [view.name, ...tablesOf(view).map(({ name }) => name)]);
  const objects = await standingObjects(session, engine, [schema, tables.schema], names, present);
  const found = new Map<string, TamperedView>();
  for (const view of built) {
    const horizon = state.progress.get(view.name)?.horizon ?? null;
    if (horizon === null) continue;
    const tampered = {
      tables: tamperedTables(view, objects, tables.schema, history, horizon),
      userView: tamperedUserView(view, objects, schema, history, horizon),
    };
    if (tampered.tables !== null || tampered.userView !== null) found.set(view.name.toLowerCase(), tampered);
  }
  return found;
}

/** False where the history alone shows that others only changed rows of the views' base tables: the usual case. */
function mayBeTampered(state: State, built: readonly StoredView[], history: ChangeHistory, present: bigint): boolean {
  // A view that reads no source stays where it was built, far behind what others make the history go back to.
  const moving = built.filter(({ definition }) => definition.sources.length > 0);
  const followed = moving.length > 0 ? moving : built;
  const horizons = followed.flatMap(({ name }) => state.progress.get(name)?.horizon ?? []);
  const [first] = horizons.sort((a, b) => (a < b ? -1 : 1));
  if (first === undefined) return false;
  const tables = new Set(
    built.flatMap(({ definition }) => definition.sources).flatMap(({ kind, name }) => (kind === "table" ? [name] : [])),
  );
  const known = new Set(state.cursors.flatMap(({ source, tableId }) => (tables.has(source) ? [tableId] : [])));
  return history.window(first, present).incomplete || history.othersTouched(first, known);
}

/** A view's tables and the columns that they must have. */
function tablesOf({ built }: StoredView): { name: string; columns: readonly string[] }[] {
  if (built === null) return [];
  const named = (name: string, columns: Layout["columns"]) => ({ name, columns: columns.map((column) => column.name) });
  const beside = besideTables(built.layout, built.table).map(({ name, columns }) => named(name, columns));
  return [named(built.table, built.layout.columns), ...beside];
}

function tamperedTables(
  view: StoredView,
  objects: readonly StandingObject[],
  schema: string,
  history: ChangeHistory,
  horizon: bigint,
): TamperedView["tables"] {
  const because = (text: string, unreadable: boolean) => ({ reason: { code: TABLE_ALTERED, text }, unreadable });
  const ids = new Set<bigint>();
  for (const { name, columns } of tablesOf(view)) {
    const table = find(objects, "table", schema, name);
    if (table === undefined) return because(`something else has dropped or renamed the view's table ${name}`, true);
    if (table.since > table.created || columns.join("\n") !== table.columns.join("\n")) {
      return because(`something else has altered the columns of the view's table ${name}`, true);
    }
    const isForeign = history.knows(table.created) && history.refreshedView(table.created) !== view.name;
    if (table.created > horizon && isForeign) {
      return because(`something else has replaced the view's table ${name}`, true);
    }
    if (table.id !== null) ids.add(table.id);
  }
  const written = history.changedByOthers(view.name, ids, horizon);
  return written ? because("something else has written to the view's physical table", false) : null;
}

function tamperedUserView(
  view: StoredView,
  objects: readonly StandingObject[],
  schema: string,
  history: ChangeHistory,
  horizon: bigint,
): TamperedView["userView"] {
  if (find(objects, "table", schema, view.name) !== undefined) return "taken";
  const standing = find(objects, "view", schema, view.name);
  if (standing === undefined) return "gone";
  const isOurs = standing.created <= horizon || history.refreshedView(standing.created) === view.name;
  return isOurs || !history.knows(standing.created) ? null : "gone";
}

function find(
  objects: readonly StandingObject[],
  kind: StandingObject["kind"],
  schema: string,
  name: string,
): StandingObject | undefined {
  return objects.find(
    (object) => object.kind === kind && sameName(object.schema, schema) && sameName(object.name, name),
  );
}

/** @throws RefreshError `view_name_taken`: what somebody put there is not ours to drop. */
export function requireUserView(tampered: TamperedView | undefined, schema: string, view: string): void {
  if (tampered?.userView !== "taken") return;
  throw new RefreshError(
    "view_name_taken",
    `View ${view}: a table ${schema}.${view} stands in the place of its user-facing view.`,
    {
      subject: { view, table: `${schema}.${view}` },
      hint: "Rename or drop that table; the next refresh then writes the view anew.",
    },
  );
}

/** What a run says of a user-facing view that it wrote anew. */
export function restoredWarning(schema: string, view: string): Reason {
  return {
    code: "user_view_restored",
    text: `The user-facing view ${schema}.${view} had been dropped or replaced by something else, and was written anew.`,
  };
}
