/**
 * Definitions are bound, planned and laid out against the tables and plain views of the time when they were applied.
 * Where those have another form by now, what is kept for a view may be of types that its values no longer fit: the
 * view is defined anew from its own text, before anything of it is read.
 */
import { type LakeObjects, readLakeObjects } from "../catalog/tables.js";
import { retryConflicts } from "../engine/retry.js";
import { IvmError, RefreshError } from "../errors.js";
import { loadFunctions } from "../sql/functions.js";
import { sameName } from "../sql/quote.js";
import type { ViewDefinition } from "../types.js";
import { appliesOf, type Change, changeOf, sameDefinition, withoutOurs, writeChanges } from "../view/apply.js";
import type { StoredDefinition } from "../view/definition.js";
import { type PrepareContext, prepareDefinitions } from "../view/prepare.js";
import type { StoredView } from "../view/state.js";
import type { RunContext } from "./plan-run.js";
import { APPLY_AGAIN, definitionBroken } from "./same-columns.js";

export interface Redefined {
  /** True where definitions are others than the run has read, so that the state has to be read anew. */
  readonly changed: boolean;
  /** Why views can't be refreshed before somebody has looked at their definitions, by lower-case name. */
  readonly broken: ReadonlyMap<string, IvmError>;
}

/** Defines those of the views anew whose tables, or plain views, have another form than their definitions were made for. */
export function redefineOutdated(run: RunContext, views: readonly StoredView[]): Promise<Redefined> {
  const { session, engine } = run;
  if (!mayBeOutdated(run, views)) return Promise.resolve({ changed: false, broken: new Map() });
  return retryConflicts(
    () => redefine(run, views),
    () => engine.reattach(session),
    session,
  );
}

/** False where the history alone shows that nothing was altered since the views were made: the usual case. */
function mayBeOutdated({ state, history, horizon }: RunContext, views: readonly StoredView[]): boolean {
  if (views.some(isPending)) return true;
  const horizons = views.flatMap(({ name }) => state.progress.get(name)?.horizon ?? []);
  const [first] = horizons.sort((a, b) => (a < b ? -1 : 1));
  return first !== undefined && history.othersAltered(first, horizon);
}

/** Since when its definition stands is not known: it has not been refreshed with it. */
function isPending({ built, definition }: StoredView): boolean {
  return built === null || built.fingerprint !== definition.fingerprint;
}

async function redefine(run: RunContext, views: readonly StoredView[]): Promise<Redefined> {
  const { session, engine, tables } = run;
  const schema = engine.config.schema ?? "main";
  const applies = await appliesOf(session, tables);
  // Since the run began another one may have done it.
  const { views: stored } = await tables.read(session);
  const objects = withoutOurs(await readLakeObjects(session, engine), stored, schema, tables.schema);
  const wanted = stored.filter(({ name }) => views.some((view) => sameName(view.name, name)));
  const outdated = wanted.filter((view) => isOutdated(run, view, objects));
  const broken = new Map<string, IvmError>();
  const changes: Change[] = [];
  if (outdated.length > 0) {
    const context = { session, engine, objects, schema, functions: await loadFunctions(session), dropped: [] };
    for (const view of outdated) {
      try {
        changes.push(changeOf(await defineAgain(context, view, stored), view));
      } catch (error) {
        if (!(error instanceof IvmError)) throw error;
        session.checkSignal();
        broken.set(view.name.toLowerCase(), asRefreshError(view, error));
      }
    }
  }
  const written = await writeChanges(session, tables, schema, applies, changes, () => Promise.resolve());
  return { changed: written || wanted.some((view) => isNews(view, views)), broken };
}

/** True where another run, or an apply, has written the definition since this run has read it. */
function isNews({ name, definition }: StoredView, known: readonly StoredView[]): boolean {
  return !sameDefinition(definition, known.find((view) => view.name === name)?.definition);
}

/** A column has another type than at the time of the definition, or a plain view that it reads may be another. */
function isOutdated(run: RunContext, view: StoredView, objects: LakeObjects): boolean {
  const { definition, name } = view;
  const retyped = definition.sources.some((source) => {
    const present = source.kind === "table" ? objects.table(source.schema, source.table)?.columns : undefined;
    return source.columns.some((column) => {
      const now = present?.find((candidate) => sameName(candidate.name, column.name));
      return now !== undefined && now.type !== column.type;
    });
  });
  if (retyped || definition.readsPlainViews === false) return retyped;
  const since = isPending(view) ? null : (run.state.progress.get(name)?.horizon ?? null);
  return since === null ? definition.readsPlainViews === true : run.history.othersChangedViews(since, run.horizon);
}

/** @throws RefreshError `definition_stale` where the view's columns would be others: whoever reads them has to know. */
async function defineAgain(
  context: Omit<PrepareContext, "stored">,
  view: StoredView,
  stored: readonly StoredView[],
): Promise<StoredDefinition> {
  const others = stored.filter((other) => other !== view).map((other) => [other.name, other.definition] as const);
  const [definition] = await prepareDefinitions({ ...context, stored: new Map(others) }, [asGiven(view.definition)]);
  if (definition === undefined) throw new TypeError("one definition for each that is given");
  const shown = ({ columns }: StoredDefinition) => columns.map(({ name, type }) => `${name} ${type}`);
  const [before, after] = [shown(view.definition), shown(definition)];
  const position = before.findIndex((column, index) => column !== after[index]);
  if (position < 0 && before.length === after.length) return definition;
  const [was, is] = [before[position] ?? "no column", after[position < 0 ? before.length : position] ?? "no column"];
  throw new RefreshError(
    "definition_stale",
    `View ${view.name}: what it reads has another form than when it was applied; it would now have ${is} where it has ${was}.`,
    { subject: { view: view.name }, hint: APPLY_AGAIN },
  );
}

/** The definition as its author gave it. */
function asGiven(definition: StoredDefinition): ViewDefinition {
  const { name, sql, primaryKey, refresh, floatSums, tags, targetLagMs } = definition;
  return {
    name,
    sql,
    primaryKey,
    refresh,
    ...(floatSums === undefined ? {} : { floatSums }),
    ...(tags === undefined ? {} : { tags }),
    ...(targetLagMs === undefined ? {} : { targetLagMs }),
  };
}

function asRefreshError({ name }: StoredView, error: IvmError): IvmError {
  if (error instanceof RefreshError) return error;
  return definitionBroken(name, "what it reads has another form than when it was applied", error);
}
