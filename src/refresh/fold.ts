import type { DeltaContext } from "../delta/contract.js";
import { derive } from "../delta/derive.js";
import { restrictTo } from "../delta/restrict.js";
import type { Session } from "../engine/session.js";
import { createFromRows } from "../engine/sparing.js";
import { type ColumnId, type Expression, keepColumns, type NamedExpression, type Relation } from "../plan/relation.js";
import { consolidated, type LeafRenderer, renderRelation, renderTerms } from "../render/relation.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { Layout } from "../view/layout.js";
import type { ViewPlan } from "../view/plan-view.js";
import type { GroupState, PhysicalColumn } from "../view/states.js";
import { fillDifference, presentRows, STORED_ROW } from "./difference.js";
import { equalityFor, NULL_IS_A_KEY } from "./equality.js";
import { foldState, stateChange, type TakeColumn } from "./fold-states.js";
import { changedValues, countedInputs, countValues } from "./fold-values.js";
import type { Large } from "./large-tables.js";

/**
 * Grouped views: the delta of the rows below GROUP BY is summed by group and folded into the stored state of the
 * groups it touches. Groups whose state can't be folded (an extreme that lost its last copy, or any aggregate without
 * a folding rule) are evaluated anew from the sources at the horizon, and only those.
 */
export interface FoldInput {
  readonly session: Session;
  readonly layout: Layout;
  readonly groups: NonNullable<Layout["groups"]>;
  readonly plan: ViewPlan;
  readonly context: DeltaContext;
  readonly leaves: LeafRenderer;
  readonly table: string;
  /** The tables of counted values, as they stand in FROM. */
  readonly counted: readonly string[];
  readonly large: Large;
  /** The view's name, for errors. */
  readonly view: string;
}

const CHANGED_ROWS = "ivm_changed_rows";
const CHANGED_GROUPS = "ivm_changed_groups";
/** The stored rows of the groups that changed: a later step takes those away that go. */
export const OLD_GROUPS = "ivm_old_groups";
const FOLDED = "ivm_folded";
const REREAD = "ivm_reread";

const q = quoteIdentifier;

export async function foldGroups(input: FoldInput): Promise<void> {
  const { session, groups, layout } = input;
  const foldable = groups.states.every((state) => state.rule.rule !== "reread");
  await (foldable ? sumByGroup(input) : collectGroups(input));
  await readOldGroups(input);
  const names = layout.columns.map((column) => q(column.name)).join(", ");
  let after: string;
  if (foldable) {
    const reread = await fold(input);
    const folded = layout.columns.map((column) => `${q(column.id)} AS ${q(column.name)}`).join(", ");
    const kept = groups.keys.length === 0 ? "" : ` AND ${q(rowsColumn(groups.states))} > 0`;
    after = `SELECT ${folded} FROM ${q(FOLDED)} WHERE NOT "reread"${kept}`;
    if (reread) after += ` UNION ALL SELECT ${names} FROM (${await rereadGroups(input, REREAD)})`;
  } else {
    after = await rereadGroups(input, CHANGED_GROUPS);
  }
  await fillDifference(session, layout, after, `SELECT ${names} FROM ${q(OLD_GROUPS)}`);
  const changed = (layout.counted ?? []).map((_, position) => changedValues(position));
  await session.dropTemporary([CHANGED_ROWS, CHANGED_GROUPS, FOLDED, REREAD, ...changed]);
}

function rowsColumn(states: readonly GroupState[]): ColumnId {
  const rows = states.find((state) => state.rule.rule === "rows");
  if (rows === undefined) throw new TypeError("a grouped view has no row count");
  return rows.id;
}

/** The groups as they are stored, each with its row, which goes where the group changes. */
async function readOldGroups(input: FoldInput): Promise<void> {
  const { session, groups, layout, table } = input;
  const rows = `(${presentRows(layout, table, [`rowid AS ${q(STORED_ROW)}`])}) AS data`;
  const equality = input.large.tables.has(table)
    ? await equalityFor(session, CHANGED_GROUPS, keysOf(input))
    : NULL_IS_A_KEY;
  const changed =
    groups.keys.length === 0
      ? `WHERE EXISTS (SELECT 1 FROM ${q(CHANGED_GROUPS)})`
      : `SEMI JOIN ${q(CHANGED_GROUPS)} AS changed ON ${matchKeys(input, "data", "changed", equality)}`;
  await session.run(`CREATE OR REPLACE TEMP TABLE ${q(OLD_GROUPS)} AS SELECT data.* FROM ${rows} ${changed}`);
}

/** The grouping keys, under the names that the tables of changed groups have for them. */
function keysOf({ groups, layout }: FoldInput): { name: ColumnId; type: string }[] {
  return groups.keys.map((key) => ({ name: key, type: columnOf(layout, key).type }));
}

function matchKeys(input: FoldInput, data: string, changed: string, equality = NULL_IS_A_KEY): string {
  const match = input.groups.keys.map(
    (key) => `${data}.${q(columnOf(input.layout, key).name)} ${equality(key)} ${changed}.${q(key)}`,
  );
  return match.length === 0 ? "true" : match.join(" AND ");
}

function columnOf(layout: Layout, id: ColumnId): PhysicalColumn {
  const column = layout.columns.find((candidate) => candidate.id === id);
  if (column === undefined) throw new TypeError(`no physical column for ${id}`);
  return column;
}

/** The groups of all changed rows, where no state is folded. */
async function collectGroups(input: FoldInput): Promise<void> {
  const { groups, context, leaves } = input;
  const terms = derive(groups.aggregate.input, context);
  const selects = terms.map((term) => {
    const keys: Relation = { kind: "project", input: term.relation, columns: groups.aggregate.keys };
    return `SELECT ${[...groups.keys.map(q), `1 AS one`].join(", ")} FROM (${renderRelation(keys, leaves)})`;
  });
  await input.session.run(
    `CREATE OR REPLACE TEMP TABLE ${q(CHANGED_GROUPS)} AS SELECT DISTINCT * FROM (${selects.join(" UNION ALL ")})`,
  );
}

/** A value that states need of each changed row; equal expressions are taken once. */
class Inputs {
  readonly columns: NamedExpression[] = [];
  private readonly known = new Map<string, ColumnId>();

  constructor(private readonly context: DeltaContext) {}

  take(expression: Expression, name: string): ColumnId {
    const known = this.known.get(expression.sql);
    if (known !== undefined) return known;
    const id = this.context.ids.create(name);
    this.known.set(expression.sql, id);
    this.columns.push({ id, expression });
    return id;
  }
}

/** Sums the changed rows by group: the change of each state. */
async function sumByGroup(input: FoldInput): Promise<void> {
  const { session, groups, context, leaves, layout } = input;
  const inputs = new Inputs(context);
  const take = (expression: Expression, name: string): string => q(inputs.take(expression, name));
  const changes = changesOf(groups.states, undefined, take);
  const counted = (layout.counted ?? []).map((table) => ({ table, inputs: countedInputs(table, take) }));
  const columns = [...groups.aggregate.keys, ...inputs.columns];
  const ids = columns.map((column) => column.id);
  const terms = derive(groups.aggregate.input, context).map((term) => ({
    weight: term.weight,
    relation: { kind: "project", input: term.relation, columns: [...columns, ...keepColumns([term.weight])] } as const,
  }));
  const rows = renderTerms(terms, ids, leaves);
  let changedRows = `(${rows})`;
  if (session.sparing || counted.length > 0 || !groups.states.every(addsUp)) {
    // Consolidated first: an extreme must not be taken from a row that another term takes away again.
    await createFromRows(session, CHANGED_ROWS, rows, (from) => consolidated(ids, from));
    changedRows = q(CHANGED_ROWS);
  }
  const keys = groups.keys.map(q);
  const one = keys.length === 0 ? " HAVING count(*) > 0" : "";
  const joins: string[] = [];
  for (const [position, { table, inputs: taken }] of counted.entries()) {
    const present = input.counted[position] ?? "";
    const isLarge = input.large.tables.has(present);
    const count = { session, view: input.view, keys: groups.keys, changedRows: CHANGED_ROWS, isLarge };
    await countValues(count, position, table, present, taken);
    joins.push(`LEFT JOIN ${valueChanges(groups, position)}`);
  }
  const rest = keys.length === 0 ? "*" : `* EXCLUDE (${keys.join(", ")})`;
  const all = ["groups.*", ...joins.map((_, position) => `values${position + 1}.${rest}`)];
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${q(CHANGED_GROUPS)} AS SELECT ${all.join(", ")}
     FROM (SELECT ${[...keys, ...changes].join(", ")} FROM ${changedRows}${byKeys(keys)}${one}) AS groups ${joins.join(" ")}`,
  );
}

/** True where rows that cancel out leave no trace in the state's change, whether or not they are taken out before. */
function addsUp({ rule }: GroupState): boolean {
  if (rule.rule === "sum") return rule.endless === undefined;
  return rule.rule === "rows" || rule.rule === "count" || rule.rule === "value";
}

/** By group, the changes of the states that are made from the distinct values at a position, with their join. */
function valueChanges({ keys: ids, states }: FoldInput["groups"], position: number): string {
  const [keys, alias] = [ids.map(q), `values${position + 1}`];
  // The values stand in their table as what they are.
  const changes = changesOf(states, position, (expression) => `(${expression.sql})`);
  const match = keys.map((key) => `groups.${key} IS NOT DISTINCT FROM ${alias}.${key}`);
  return `(SELECT ${[...keys, ...changes].join(", ")} FROM ${q(changedValues(position))} WHERE "weight" <> 0${byKeys(keys)}) AS ${alias} ON ${match.length === 0 ? "true" : match.join(" AND ")}`;
}

function byKeys(keys: readonly string[]): string {
  return keys.length === 0 ? "" : ` GROUP BY ${keys.map((_, index) => index + 1).join(", ")}`;
}

/** The changes of the states that are made from changed rows, or from the counted values at a position. */
function changesOf(states: readonly GroupState[], values: number | undefined, take: TakeColumn): string[] {
  return states.flatMap((state) => {
    const own = "values" in state.rule ? state.rule.values : undefined;
    return own === values ? stateChange(state, take) : [];
  });
}

/** Old state and change put together, with a mark on the groups that must be read anew; true where there are any, in REREAD. */
async function fold(input: FoldInput): Promise<boolean> {
  const { session, groups, layout } = input;
  const old = (id: ColumnId): string => `old.${q(columnOf(layout, id).name)}`;
  const rereads: string[] = [];
  const columns: string[] = [];
  const values: string[] = [];
  for (const { id, rule } of groups.states) {
    if (rule.rule === "value") {
      values.push(`${rule.value.sql} AS ${q(id)}`);
      rereads.push(`NOT coalesce(${rule.trusted.sql}, false)`);
    } else {
      const folded = foldState(id, rule, old);
      columns.push(`${folded.value} AS ${q(id)}`);
      if (folded.reread !== null) {
        const lost = q(`${id} lost`);
        columns.push(`coalesce(${folded.reread}, false) AS ${lost}`);
        rereads.push(lost);
      }
    }
  }
  // A group without rows goes; the one group of an aggregate without keys stays, so its lost extreme must be found out.
  const kept = groups.keys.length === 0 ? "true" : `${q(rowsColumn(groups.states))} > 0`;
  const reread = rereads.length === 0 ? "false" : `${kept} AND (${rereads.join(" OR ")})`;
  const keys = groups.keys.map((key) => `changed.${q(key)}`);
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${q(FOLDED)} AS SELECT ${["*", ...values, `${reread} AS "reread"`].join(", ")} FROM (
       SELECT ${[...keys, ...columns].join(", ")}
       FROM ${q(CHANGED_GROUPS)} AS changed LEFT JOIN ${q(OLD_GROUPS)} AS old ON ${matchKeys(input, "old", "changed")})`,
  );
  if (rereads.length === 0) return false;
  const marked = await session.change(
    `CREATE OR REPLACE TEMP TABLE ${q(REREAD)} AS SELECT ${[...groups.keys.map(q), "1 AS one"].join(", ")} FROM ${q(FOLDED)} WHERE "reread"`,
  );
  return marked > 0n;
}

/** The state of some groups from the sources at the horizon, their keys pushed down to the tables. */
async function rereadGroups(input: FoldInput, keysTable: string): Promise<string> {
  const { session, groups, context, layout, leaves } = input;
  const { aggregate } = groups;
  const keys = aggregate.keys.map((key) => ({ key, id: context.ids.create("key") }));
  const equality = input.large.sources ? await equalityFor(session, keysTable, keysOf(input)) : NULL_IS_A_KEY;
  const names = layout.columns.map((column) => `${q(column.id)} AS ${q(column.name)}`).join(", ");
  const columns = keys.map(({ key, id }) => `${q(key.id)} AS ${q(id)}`);
  const shared: Relation = {
    kind: "shared",
    name: context.ids.create("affected"),
    input: {
      kind: "constant",
      sql: `SELECT ${[...columns, "1 AS one"].join(", ")} FROM temp.${q(keysTable)}`,
      columns: keys.map(({ id }) => id),
      plain: keys.filter(({ key }) => equality(key.id) === "=").map(({ id }) => id),
    },
  };
  const cut =
    keys.length === 0
      ? aggregate.input
      : restrictTo(
          aggregate.input,
          shared,
          keys.map(({ key, id }) => [key.expression, id] as const),
        );
  const rows = renderRelation({ ...aggregate, input: cut }, leaves);
  // Without keys the one group is always there, but is only written where something changed.
  const condition = keys.length === 0 ? ` WHERE EXISTS (SELECT 1 FROM temp.${q(keysTable)})` : "";
  return `SELECT ${names} FROM (\n${rows}\n)${condition}`;
}
