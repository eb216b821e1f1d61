import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { sameName } from "../sql/quote.js";
import type { DropOptions, DropResult } from "../types.js";
import { appliesOf, type Change, writeChanges } from "./apply.js";
import { LAYOUT_WITH_LOGS } from "./migrations.js";
import type { StateTables, StoredView } from "./state.js";

/**
 * Drops a view, its tables, its change log and the log's consumers, in one transaction.
 * @param unknown makes the error for a view that the lake does not have.
 * @throws ConfigError `view_unknown`; `view_in_use` where something reads the view and `cascade` is not set.
 */
export async function dropView(
  session: Session,
  engine: Engine,
  tables: StateTables,
  name: string,
  options: DropOptions,
  unknown: (views: readonly StoredView[], name: string) => ConfigError,
  onDrop: (view: string) => Promise<void>,
): Promise<DropResult> {
  const state = await tables.read(session);
  const view = state.views.find((candidate) => sameName(candidate.name, name));
  if (view === undefined) throw unknown(state.views, name);
  const readers = readersOf(state.views, view);
  // The last of a chain goes first.
  const gone = [...readers].reverse().concat(view);
  const names = gone.map((each) => each.name);
  const consumers = state.layout < LAYOUT_WITH_LOGS ? [] : await consumersOf(session, tables, names);
  const dryRun = options.dryRun === true;
  if (options.cascade !== true) requireUnused(view, readers, consumers);
  if (!dryRun) {
    const applies = await appliesOf(session, tables);
    const changes = gone.map(
      (stored): Change => ({
        action: { view: stored.name, action: "drop", strategy: null, reasons: [] },
        definition: null,
        stored,
      }),
    );
    await writeChanges(session, tables, engine.config.schema ?? "main", applies, changes, onDrop);
  }
  return { dropped: names, consumers, dryRun };
}

/** The views that read a view, directly or through others, each after what it reads. */
function readersOf(views: readonly StoredView[], view: StoredView): StoredView[] {
  const order: StoredView[] = [];
  const visit = (read: StoredView): void => {
    for (const reader of views.filter((candidate) => reads(candidate, read))) {
      // Seen again, it must come after this one too.
      const seen = order.indexOf(reader);
      if (seen >= 0) order.splice(seen, 1);
      order.push(reader);
      visit(reader);
    }
  };
  visit(view);
  return order;
}

function reads(view: StoredView, read: StoredView): boolean {
  return view.definition.sources.some(({ kind, table }) => kind === "view" && sameName(table, read.name));
}

async function consumersOf(session: Session, tables: StateTables, views: readonly string[]): Promise<string[]> {
  const rows = await session.rows<{ name: string }>(
    `SELECT name FROM ${tables.table("consumers")} WHERE list_contains($1, log) ORDER BY name`,
    [views],
  );
  return rows.map(({ name }) => name);
}

function requireUnused(view: StoredView, readers: readonly StoredView[], consumers: readonly string[]): void {
  if (readers.length === 0 && consumers.length === 0) return;
  const who = [
    ...(readers.length === 0 ? [] : [`views read it: ${readers.map(({ name }) => name).join(", ")}`]),
    ...(consumers.length === 0 ? [] : [`consumers read its change log: ${consumers.join(", ")}`]),
  ];
  throw new ConfigError("view_in_use", `View ${view.name} is in use; ${who.join("; ")}.`, {
    subject: { view: view.name },
    hint: "Drop those first, or drop all of it together with --cascade (`cascade: true`).",
  });
}
