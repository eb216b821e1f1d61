import { type LakeObjects, readLakeObjects } from "../catalog/tables.js";
import { type Engine, LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { ConflictError, DefinitionError } from "../errors.js";
import type { FunctionCatalog } from "../sql/functions.js";
import { quotePath, sameName } from "../sql/quote.js";
import type { DefineAction, DefineOptions, DefineResult, ViewDefinition } from "../types.js";
import { besideTables } from "./beside.js";
import type { StoredDefinition } from "./definition.js";
import { prepareDefinitions } from "./prepare.js";
import type { StateTables, StoredView } from "./state.js";

export interface Change {
  readonly action: DefineAction;
  /** The new definition; null for views that go or stay as they are. */
  readonly definition: StoredDefinition | null;
  readonly stored: StoredView | null;
}

/**
 * Registers definitions. Nothing of a view's content changes here: the next refresh builds new views and rebuilds
 * changed ones by difference, so readers keep what they have until the new content is there.
 */
export async function applyDefinitions(
  session: Session,
  engine: Engine,
  tables: StateTables,
  functions: FunctionCatalog,
  given: readonly ViewDefinition[],
  options: DefineOptions,
  /** Takes away what else the lake keeps for a view that is dropped, in the same transaction. */
  onDrop: (view: string) => Promise<void>,
): Promise<DefineResult> {
  const dryRun = options.dryRun === true;
  if (!dryRun) await tables.prepare(session);
  const applies = dryRun ? 0n : await appliesOf(session, tables);
  const state = await tables.read(session);
  const definitions = asSpelled(given, state.views);
  const kept = options.drop === true ? state.views.filter((view) => named(definitions, view.name)) : state.views;
  const objects = await readLakeObjects(session, engine);
  const schema = engine.config.schema ?? "main";
  for (const definition of definitions) {
    const ours = state.views.some((view) => sameName(view.name, definition.name) && view.built !== null);
    if (!ours && (objects.table(schema, definition.name) ?? objects.view(schema, definition.name)) !== undefined) {
      throw new DefinitionError(
        "name_taken",
        `View ${definition.name}: the lake already has a table or view ${schema}.${definition.name}.`,
        {
          subject: { view: definition.name, ...(definition.file === undefined ? {} : { file: definition.file }) },
          hint: "Rename the view, or choose another `schema` for the user-facing views.",
        },
      );
    }
  }
  const stored = new Map(kept.map((view) => [view.name, view.definition]));
  const dropped = state.views.filter((view) => !kept.includes(view)).map((view) => view.name);
  const prepared = await prepareDefinitions(
    {
      session,
      engine,
      objects: withoutOurs(objects, state.views, schema, tables.schema),
      functions,
      stored,
      schema,
      dropped,
    },
    definitions,
  );
  if (options.requireIncremental === true) requireRules(prepared);
  const changes = compare(prepared, state.views, options.drop === true);
  if (!dryRun) await writeChanges(session, tables, schema, applies, changes, onDrop);
  return { dryRun, actions: changes.map((change) => change.action) };
}

/** A view that exists keeps the spelling of its name, by which its rows in the state schema are found. */
function asSpelled(definitions: readonly ViewDefinition[], views: readonly StoredView[]): ViewDefinition[] {
  return definitions.map((definition) => {
    const stored = views.find(({ name }) => sameName(name, definition.name));
    return stored === undefined ? definition : { ...definition, name: stored.name };
  });
}

/** @throws DefinitionError `not_incremental` for the first definition that no rule keeps and that does not ask for that. */
function requireRules(definitions: readonly StoredDefinition[]): void {
  const without = definitions.find(({ plan, refresh }) => plan === null && refresh !== "full");
  if (without === undefined) return;
  throw new DefinitionError(
    "not_incremental",
    `View ${without.name} has no incremental rule: ${without.reasons[0]?.text ?? "its plan is not known"}.`,
    {
      subject: { view: without.name },
      hint: "Write the query in another form, or set `refresh: full` where a recompute is meant.",
    },
  );
}

/** The lake without what this project keeps in it: definitions read views by name, never their tables. */
export function withoutOurs(
  objects: LakeObjects,
  views: readonly StoredView[],
  schema: string,
  stateSchema: string,
): LakeObjects {
  const ours = (inSchema: string, name: string): boolean =>
    sameName(inSchema, schema) && views.some((view) => view.built !== null && sameName(view.name, name));
  return {
    ...objects,
    table: (inSchema, name) => (sameName(inSchema, stateSchema) ? undefined : objects.table(inSchema, name)),
    view: (inSchema, name) => (ours(inSchema, name) ? undefined : objects.view(inSchema, name)),
  };
}

function named(definitions: readonly ViewDefinition[], name: string): boolean {
  return definitions.some((definition) => sameName(definition.name, name));
}

function compare(prepared: readonly StoredDefinition[], views: readonly StoredView[], drop: boolean): Change[] {
  const changes = prepared.map((definition) =>
    changeOf(definition, views.find((view) => sameName(view.name, definition.name)) ?? null),
  );
  const gone = views
    .filter((view) => !prepared.some((definition) => sameName(definition.name, view.name)))
    .map((view): Change => {
      const action = {
        view: view.name,
        action: drop ? ("drop" as const) : ("orphan" as const),
        strategy: null,
        reasons: [],
      };
      return { action, definition: null, stored: view };
    });
  return [...changes, ...gone];
}

/** What becomes of a view by a definition. */
export function changeOf(definition: StoredDefinition, stored: StoredView | null): Change {
  const strategy = definition.plan === null || definition.refresh === "full" ? "recompute" : "incremental";
  const same = stored !== null && stored.definition.fingerprint === definition.fingerprint;
  const action = stored === null ? "create" : same ? "keep" : "rebuild";
  return { action: { view: definition.name, action, strategy, reasons: definition.reasons }, definition, stored };
}

export async function appliesOf(session: Session, tables: StateTables): Promise<bigint> {
  const row = await session.row<{ applies: bigint }>(`SELECT applies FROM ${tables.table("layout")}`);
  return row.applies;
}

/**
 * Writes changes of definitions in one transaction; a conflict where another apply came in between.
 * @returns whether there was anything to write.
 */
export async function writeChanges(
  session: Session,
  tables: StateTables,
  schema: string,
  applies: bigint,
  changes: readonly Change[],
  onDrop: (view: string) => Promise<void>,
): Promise<boolean> {
  const writes = changes.filter(needsWrite);
  if (writes.length === 0) return false;
  await session.transaction(async () => {
    if ((await appliesOf(session, tables)) !== applies) {
      throw new ConflictError("moved", "Another apply changed the definitions in the meantime.", {
        hint: "Run the same command again.",
      });
    }
    // One row that every apply updates: of two at once, one gets a conflict.
    await session.run(`UPDATE ${tables.table("layout")} SET applies = applies + 1`);
    for (const change of writes) {
      await writeChange(session, tables, schema, change);
      if (change.definition === null) await onDrop(change.action.view);
    }
    const views = writes.map((change) => ({ view: change.action.view, action: change.action.action }));
    await tables.commitMessage(session, "apply definitions", { views });
  });
  return true;
}

function needsWrite(change: Change): boolean {
  if (change.action.action === "orphan") return false;
  if (change.action.action !== "keep") return true;
  return !sameDefinition(change.definition, change.stored?.definition);
}

/** True for definitions that are the same in all that is stored of them. */
export function sameDefinition(one: StoredDefinition | null, other: StoredDefinition | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

async function writeChange(session: Session, tables: StateTables, schema: string, change: Change): Promise<void> {
  const { definition, stored } = change;
  if (definition === null) {
    if (stored !== null) await dropView(session, tables, schema, stored);
    return;
  }
  const json = JSON.stringify(definition);
  if (stored === null) {
    await session.run(`INSERT INTO ${tables.table("views")} (name, definition) VALUES ($1, $2)`, [
      definition.name,
      json,
    ]);
    await session.run(`INSERT INTO ${tables.table("progress")} (view, updated_at) VALUES ($1, now())`, [
      definition.name,
    ]);
  } else {
    await session.run(`UPDATE ${tables.table("views")} SET definition = $1 WHERE name = $2`, [json, stored.name]);
  }
}

async function dropView(session: Session, tables: StateTables, schema: string, view: StoredView): Promise<void> {
  if (view.built !== null) {
    await session.run(`DROP VIEW IF EXISTS ${quotePath([LAKE_NAME, schema, view.name])}`);
    const { table, layout } = view.built;
    const beside = besideTables(layout, table).map(({ name }) => name);
    for (const name of [table, ...beside]) await session.run(`DROP TABLE IF EXISTS ${tables.table(name)}`);
  }
  await session.run(`DELETE FROM ${tables.table("views")} WHERE name = $1`, [view.name]);
  await session.run(`DELETE FROM ${tables.table("progress")} WHERE view = $1`, [view.name]);
}
