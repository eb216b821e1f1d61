import { createHash } from "node:crypto";
import { checkColumns } from "../builder/check.js";
import type { LakeObjects } from "../catalog/tables.js";
import { type Engine, LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { DefinitionError, IvmError } from "../errors.js";
import { CLOCK } from "../plan/relation.js";
import { type Ast, baseTable, columnRef, commonTable, text } from "../sql/ast.js";
import type { FunctionCatalog } from "../sql/functions.js";
import { printJson } from "../sql/json.js";
import { parseSelect, printOver, printStatement, type SqlOrigin, subjectOf, subqueryName } from "../sql/parse.js";
import { sameName, typedNulls } from "../sql/quote.js";
import type { QueryNode, Reason, ViewDefinition } from "../types.js";
import { type BoundQuery, bindTables, replaceSources } from "./bind.js";
import type { DefinedSource, StoredDefinition } from "./definition.js";
import { bagLayout, type Layout, type LayoutDraft, type LayoutOptions, layoutOf } from "./layout.js";
import { limitsRows } from "./limited.js";
import { planView, type TypedColumn, unwritableReason, type ViewPlan } from "./plan-view.js";
import { recursionColumns } from "./recursive.js";
import { settleOrder } from "./settle.js";
import { type DraftColumn, HELPER_PREFIX, type PhysicalColumn, storedName } from "./states.js";
import { storageTypes } from "./storage-types.js";
import { columnNames, replaceTime, usesTime } from "./time.js";

/** Part of every fingerprint: raised when the same definition is laid out in another way, so that views are rebuilt. */
const PHYSICAL_FORMAT = 1;

export interface PrepareContext {
  readonly session: Session;
  readonly engine: Engine;
  readonly objects: LakeObjects;
  readonly functions: FunctionCatalog;
  /** Definitions that the lake has already, by name. */
  readonly stored: ReadonlyMap<string, StoredDefinition>;
  readonly schema: string;
  /** Views that go with this apply. */
  readonly dropped: readonly string[];
}

/**
 * Parses, binds, checks, plans and lays out definitions, each after those it reads.
 * @throws DefinitionError for the first definition that is wrong; nothing is written here.
 */
export async function prepareDefinitions(
  context: PrepareContext,
  definitions: readonly ViewDefinition[],
): Promise<StoredDefinition[]> {
  rejectDuplicates(definitions);
  const names = [...definitions.map((definition) => definition.name), ...context.stored.keys()];
  const bound = new Map<string, { definition: ViewDefinition; query: BoundQuery }>();
  for (const definition of definitions) {
    const origin = originOf(definition);
    const statement = await parseSelect(context.session, definition.sql, origin);
    const bindContext = { ...context, views: names };
    bound.set(definition.name.toLowerCase(), { definition, query: await bindTables(bindContext, statement, origin) });
  }
  const prepared = new Map<string, StoredDefinition>();
  for (const name of inOrder(bound)) {
    const entry = bound.get(name);
    if (entry === undefined) continue;
    prepared.set(name, await prepare(context, entry.definition, entry.query, prepared));
  }
  return [...prepared.values()];
}

function originOf(definition: ViewDefinition): SqlOrigin {
  return {
    view: definition.name,
    ...(definition.file === undefined ? {} : { file: definition.file }),
    ...(definition.lineOffset === undefined ? {} : { lineOffset: definition.lineOffset }),
  };
}

function rejectDuplicates(definitions: readonly ViewDefinition[]): void {
  const seen = new Map<string, ViewDefinition>();
  for (const definition of definitions) {
    if (definition.name.trim() === "") {
      throw new DefinitionError("view_name", "A view needs a name.", {
        hint: "The name of the .sql file is the view's name.",
      });
    }
    if (definition.name.startsWith("source:")) {
      throw new DefinitionError("view_name", `View ${definition.name}: a name can't begin with "source:".`, {
        subject: { view: definition.name },
        hint: "Change logs of base tables have such names; choose another one.",
      });
    }
    const earlier = seen.get(definition.name.toLowerCase());
    if (earlier !== undefined) {
      const files = [earlier.file, definition.file].filter((file) => file !== undefined);
      throw new DefinitionError(
        "duplicate_view",
        `Two definitions are named ${definition.name}${files.length === 2 ? ` (${files.join(" and ")})` : ""}; names compare without case.`,
        { subject: { view: definition.name }, hint: "Rename one of them." },
      );
    }
    seen.set(definition.name.toLowerCase(), definition);
  }
}

/** Names, each after the views that it reads. @throws DefinitionError `cycle`. */
function inOrder(bound: ReadonlyMap<string, { definition: ViewDefinition; query: BoundQuery }>): string[] {
  const order: string[] = [];
  const path: string[] = [];
  const visit = (name: string): void => {
    const entry = bound.get(name);
    if (entry === undefined || order.includes(name)) return;
    if (path.includes(name)) {
      const cycle = [...path.slice(path.indexOf(name)), name].map((item) => bound.get(item)?.definition.name ?? item);
      throw new DefinitionError("cycle", `Views read each other in a circle: ${cycle.join(" → ")}.`, {
        subject: subjectOf(originOf(entry.definition)),
        hint: "Break the circle: a view can only read tables and views that do not read it.",
      });
    }
    path.push(name);
    for (const source of entry.query.sources) if (source.kind === "view") visit(source.table.toLowerCase());
    path.pop();
    order.push(name);
  };
  for (const name of bound.keys()) visit(name);
  return order;
}

async function prepare(
  context: PrepareContext,
  definition: ViewDefinition,
  query: BoundQuery,
  prepared: ReadonlyMap<string, StoredDefinition>,
): Promise<StoredDefinition> {
  const { session } = context;
  const origin = originOf(definition);
  const sources = query.sources.map((source): DefinedSource => {
    if (source.kind === "table") {
      return { ...source, columns: context.objects.table(source.schema, source.table)?.columns ?? [] };
    }
    const upstream = prepared.get(source.table.toLowerCase()) ?? findStored(context.stored, source.table);
    return { ...source, columns: upstream?.columns ?? [] };
  });
  if (definition.query !== undefined) checkBuilt(definition.query, sources, origin);
  const columns = await describe(session, query.statement, sources, origin);
  const primaryKey = checkPrimaryKey(definition, columns, origin);
  const columnsOf = (name: string): readonly TypedColumn[] =>
    sources.find((source) => source.name === name)?.columns ?? [];
  const settled = await settle(session, query.statement, sources, columns, origin);
  const timed = usesTime(settled, context.functions, columnNames(sources));
  const timeless = timed ? replaceTime(settled, columnRef([CLOCK]), columnNames(sources)) : settled;
  // A view that is always recomputed needs nothing to fold.
  const folds = definition.refresh !== "full";
  const options = { foldFloats: definition.floatSums === "fold", countDistinct: folds, resumeWindows: folds };
  const { plan, reasons } = await planOf(context, definition, timeless, columnsOf, { columns, options });
  const layout = await layOut(session, plan, columns, options, origin);
  const printed = await printStatement(
    session,
    replaceSources(settled, (_, node) => node),
  );
  const statement = printJson(settled);
  return {
    name: definition.name,
    sql: definition.sql,
    statement,
    fingerprint: fingerprintOf([
      PHYSICAL_FORMAT,
      printed,
      sources.map((source) => source.name),
      columns,
      primaryKey,
      layout,
    ]),
    sources,
    columns,
    primaryKey,
    refresh: definition.refresh ?? "auto",
    plan,
    reasons,
    layout,
    usesTime: timed,
    readsPlainViews: query.readsPlainViews,
    ...(definition.floatSums === undefined ? {} : { floatSums: definition.floatSums }),
    ...(definition.tags === undefined ? {} : { tags: definition.tags }),
    ...(definition.targetLagMs === undefined ? {} : { targetLagMs: definition.targetLagMs }),
  };
}

/** Columns that the builder's author named, by which error messages can say more than those about the SQL text. */
function checkBuilt(query: QueryNode, sources: readonly DefinedSource[], origin: SqlOrigin): void {
  checkColumns(
    query,
    (wanted) => {
      const found = sources.filter(
        (source) => sameName(source.table, wanted.table) && sameName(source.schema, wanted.schema ?? source.schema),
      );
      // Of tables with one name in several schemas, only DuckDB knows which one is meant.
      return found.length === 1 ? found[0]?.columns.map((column) => column.name) : undefined;
    },
    subjectOf(origin),
  );
}

function findStored(stored: ReadonlyMap<string, StoredDefinition>, name: string): StoredDefinition | undefined {
  return [...stored.values()].find((definition) => sameName(definition.name, name));
}

async function planOf(
  context: PrepareContext,
  definition: ViewDefinition,
  statement: Ast,
  columnsOf: (source: string) => readonly TypedColumn[],
  { columns, options }: { readonly columns: readonly TypedColumn[]; readonly options: LayoutOptions },
): Promise<{ plan: ViewPlan | null; reasons: readonly Reason[] }> {
  const result = await planView(context.session, statement, context.functions, columnsOf, columns);
  const reason = result.plan === null ? result.reason : await unkept(context.session, result.plan, columns, options);
  if (reason === null) return { plan: result.plan, reasons: [] };
  if (definition.refresh === "incremental") {
    throw new DefinitionError(
      "not_incremental",
      `View ${definition.name} asks for \`refresh: incremental\`, but ${reason.text}.`,
      {
        subject: subjectOf(originOf(definition)),
        hint: "Write the query in another form, or take `refresh: auto`, which recomputes it and writes only the difference.",
      },
    );
  }
  return { plan: null, reasons: [reason] };
}

/** Why a plan can't be kept up to date with what the lake can hold; null where it can. */
async function unkept(
  session: Session,
  plan: ViewPlan,
  visible: readonly TypedColumn[],
  options: LayoutOptions,
): Promise<Reason | null> {
  if (limitsRows(plan.relation)) {
    return { code: "limit", text: "a LIMIT of this form over rows that are not grouped has no incremental rule" };
  }
  for (const { name, source } of plan.recursions ?? []) {
    const { refused } = await store(session, recursionColumns(plan, source));
    if (refused === null) continue;
    const text = `the rows of the recursive common table expression ${name} can't be stored: the lake has no ${refused.type}`;
    return { code: "recursive_type", text };
  }
  // What counts distinct values and what windows go on from is done without where it can't be stored.
  const least = layoutOf(plan, visible, { ...options, countDistinct: false, resumeWindows: false });
  const shown = new Set(visible.map(({ name }) => storedName(name)));
  const { refused, unwritable } = await store(
    session,
    least.columns.filter(({ name }) => !shown.has(name)),
  );
  if (refused === null) return null;
  if (unwritable) return unwritableReason(refused.type);
  return {
    code: "state_type",
    text: `the lake can't hold the type ${refused.type} of a value that the view is made from`,
  };
}

/**
 * The statement with an order for each aggregate that needs one; the statement itself where DuckDB does not take that
 * for the same columns, for example since a column without an alias was named by the text of its call.
 */
async function settle(
  session: Session,
  statement: Ast,
  sources: readonly DefinedSource[],
  columns: readonly TypedColumn[],
  origin: SqlOrigin,
): Promise<Ast> {
  const settled = settleOrder(statement);
  if (settled === statement) return statement;
  try {
    const types = (await describe(session, settled, sources, origin)).map((column) => column.type);
    return types.join() === columns.map((column) => column.type).join() ? settled : statement;
  } catch (error) {
    if (error instanceof DefinitionError) return statement;
    throw error;
  }
}

/** Has DuckDB bind the definition; gives its columns, their names made unique as CREATE TABLE AS would. */
async function describe(
  session: Session,
  statement: Ast,
  sources: readonly DefinedSource[],
  origin: SqlOrigin,
): Promise<TypedColumn[]> {
  const views = sources.filter((source) => source.kind === "view");
  const replaced = replaceSources(statement, (name, node) => {
    const source = sources.find((candidate) => candidate.name === name);
    const alias = text(node, "alias") || text(node, "table_name");
    const aliases = (node["column_name_alias"] as readonly string[] | undefined) ?? [];
    const view = views.findIndex((candidate) => candidate.name === name);
    if (view >= 0) return commonTable(subqueryName(view), alias, aliases);
    const path = { catalog: LAKE_NAME, schema: source?.schema ?? "main", table: source?.table ?? "" };
    return {
      ...node,
      ...baseTable(path, text(node, "alias")),
      column_name_alias: aliases,
      at_clause: node["at_clause"] ?? null,
    };
  });
  const sql = await printOver(
    session,
    replaced,
    views.map((view) => `SELECT ${typedNulls(view.columns)}`),
  );
  let described: { column_name: string; column_type: string }[];
  try {
    described = await session.rows(`DESCRIBE ${sql}`);
  } catch (error) {
    throw bindError(error, origin);
  }
  const columns = uniqueNames(described.map((column) => ({ name: column.column_name, type: column.column_type })));
  const reserved = columns.find((column) => column.name.toLowerCase().startsWith(HELPER_PREFIX));
  if (reserved !== undefined) {
    throw new DefinitionError(
      "reserved_column",
      `View ${origin.view}: column names that start with ${HELPER_PREFIX} are reserved (${reserved.name}).`,
      {
        subject: { ...subjectOf(origin), column: reserved.name },
        hint: "Give the column another name with AS.",
      },
    );
  }
  return columns;
}

function bindError(error: unknown, origin: SqlOrigin): unknown {
  if (!(error instanceof IvmError) || error.code !== "engine_error") return error;
  const [message = ""] = error.message.split("\n\nLINE");
  const column = /column "([^"]+)" not found/i.exec(message)?.[1];
  return new DefinitionError(
    column === undefined ? "invalid_query" : "column_missing",
    `View ${origin.view}: ${message.trim()}`,
    {
      subject: { ...subjectOf(origin), ...(column === undefined ? {} : { column }) },
      hint: "DuckDB can't run this query over the lake as it is now.",
      cause: error,
    },
  );
}

function uniqueNames(columns: readonly TypedColumn[]): TypedColumn[] {
  const taken = new Set<string>();
  return columns.map((column) => {
    let name = column.name;
    for (let suffix = 1; taken.has(name.toLowerCase()); suffix += 1) name = `${column.name}_${suffix}`;
    taken.add(name.toLowerCase());
    return { name, type: column.type };
  });
}

function checkPrimaryKey(definition: ViewDefinition, columns: readonly TypedColumn[], origin: SqlOrigin): string[] {
  return (definition.primaryKey ?? []).map((key) => {
    const column = columns.find((candidate) => sameName(candidate.name, key));
    if (column !== undefined) return column.name;
    throw new DefinitionError(
      "primary_key_missing",
      `View ${definition.name}: its primary key names ${key}, which is not a column of the view.`,
      {
        subject: { ...subjectOf(origin), column: key },
        hint: `The view's columns are ${columns.map((candidate) => candidate.name).join(", ")}.`,
      },
    );
  });
}

/** The layout with the types that the lake holds. Values that it can't hold are not counted. */
async function layOut(
  session: Session,
  plan: ViewPlan | null,
  columns: readonly TypedColumn[],
  options: LayoutOptions,
  origin: SqlOrigin,
): Promise<Layout> {
  const preferred: LayoutDraft = plan === null ? bagLayout(columns) : layoutOf(plan, columns, options);
  if (preferred.running !== undefined && !(await holdsHelpers(session, preferred.columns))) {
    return layOut(session, plan, columns, { ...options, resumeWindows: false }, origin);
  }
  const counted = [];
  for (const table of preferred.counted ?? []) {
    const stored = await store(session, table.columns);
    if (stored.refused !== null) return layOut(session, plan, columns, { ...options, countDistinct: false }, origin);
    counted.push({ ...table, columns: stored.columns });
  }
  const stored = await required(session, preferred, origin);
  const { recursions: drafts, ...rest } = preferred;
  if (drafts === undefined) return { ...rest, columns: stored, counted };
  const recursions = [];
  for (const table of drafts) {
    recursions.push({ ...table, columns: table.beside ? (await store(session, table.columns)).columns : stored });
  }
  return { ...rest, columns: stored, counted, recursions };
}

/** True where the lake can hold the columns that are stored beside the visible ones. */
async function holdsHelpers(session: Session, columns: readonly DraftColumn[]): Promise<boolean> {
  const helpers = columns.filter((column) => column.name.startsWith(HELPER_PREFIX));
  return (await store(session, helpers)).refused === null;
}

/** @throws DefinitionError `type_refused`. */
async function required(session: Session, draft: LayoutDraft, origin: SqlOrigin): Promise<readonly PhysicalColumn[]> {
  const { columns, refused, unwritable } = await store(session, draft.columns);
  if (refused === null) return columns;
  throw new DefinitionError(
    "type_refused",
    `View ${origin.view}: the lake can't hold the type ${refused.type} of column ${refused.name}.`,
    {
      subject: { ...subjectOf(origin), column: refused.name },
      hint: unwritable
        ? "Name the fields of a row value: {'a': a, 'b': b} instead of (a, b)."
        : "Cast the column to a type that Parquet has, for example VARCHAR.",
    },
  );
}

interface Stored {
  readonly columns: readonly PhysicalColumn[];
  /** The first column that the lake can't hold, and whether that is since SQL can't even name its type. */
  readonly refused: DraftColumn | null;
  readonly unwritable: boolean;
}

async function store(session: Session, columns: readonly DraftColumn[]): Promise<Stored> {
  const types = await storageTypes(
    session,
    columns.map((column) => column.type),
  );
  const refused = types.findIndex(({ kind }) => kind !== "stored");
  return {
    columns: columns.map((column, index) => ({ ...column, stored: types[index]?.type ?? column.type })),
    refused: columns[refused] ?? null,
    unwritable: types[refused]?.kind === "unwritable",
  };
}

function fingerprintOf(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}
