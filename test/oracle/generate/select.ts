/** Random SELECT blocks: plain, aggregated with or without GROUP BY, and with window functions. */

import {
  type Column,
  type Expression,
  type ExpressionItem,
  type Grouping,
  type GroupKey,
  type Item,
  readsColumn,
  type Select,
  type SqlType,
  scalar,
  select,
} from "../ast.js";
import { identifier } from "../print.js";
import { AggregateMaker, type OtherAggregates } from "./aggregate.js";
import type { Context, Feature } from "./context.js";
import { ExpressionMaker } from "./expression.js";
import { type From, makeFrom, makeLateral } from "./from.js";
import { makeSubquery } from "./subquery.js";
import { timeCondition } from "./time.js";
import { LIST } from "./values.js";
import { makeWindow, oddRowNumbers } from "./window.js";

export interface MadeSelect {
  readonly select: Select;
  readonly columns: readonly Column[];
  readonly size: number;
}

/** `want` are the types that the columns must have. */
export function makeSelect(context: Context, want?: readonly SqlType[]): MadeSelect {
  const { draw, features } = context;
  const single = (features.has("window") || features.has("qualify")) && draw.chance(70);
  const from =
    features.has("lateral") && draw.chance(50) ? makeLateral(context) : makeFrom(context, single ? 1 : undefined);
  const where = makeWhere(context, from);
  const aggregates = draw.chance(dwellsOnAggregates(features) ? 70 : 38);
  const made = aggregates && !single ? grouped(context, from, want) : plain(context, from, want);
  const distinct = features.has("distinct") && draw.chance(60);
  return { ...made, select: { ...made.select, where, distinct } };
}

function otherAggregates(features: ReadonlySet<Feature>): OtherAggregates {
  if (features.has("otherAggregate")) return "any";
  if (features.has("distinctAggregate")) return "distinct";
  if (features.has("momentAggregate")) return "moments";
  return features.has("bitAggregate") ? "bits" : "none";
}

function dwellsOnAggregates(features: ReadonlySet<Feature>): boolean {
  const dwelling: readonly Feature[] = [
    "otherAggregate",
    "distinctAggregate",
    "momentAggregate",
    "bitAggregate",
    "groupingSets",
  ];
  return dwelling.some((feature) => features.has(feature));
}

function makeWhere(context: Context, from: From): Expression | null {
  const { draw, features } = context;
  const subquery = features.has("subquery") ? (atoms: readonly Expression[]) => makeSubquery(context, atoms) : null;
  const conditions = [...from.conditions];
  if (draw.chance(subquery === null ? 30 : 80)) {
    conditions.push(new ExpressionMaker(draw, from.atoms, subquery).condition(1));
  }
  if (features.has("time") && draw.chance(60)) conditions.push(timeCondition(draw, from.atoms));
  return conditions.reduce<Expression | null>(
    (left, right) => (left === null ? right : scalar("BOOLEAN")`${left} AND ${right}`),
    null,
  );
}

function plain(context: Context, from: From, want?: readonly SqlType[]): MadeSelect {
  const { draw, features } = context;
  const star = want === undefined && draw.chance(12) ? makeStar(context, from) : null;
  if (star !== null) return star;
  const expressions = new ExpressionMaker(draw, from.atoms);
  const atom = () => (draw.chance(65) ? draw.pick(from.atoms) : expressions.any(2));
  const made = want?.map((type) => expressions.make(type, 1)) ?? draw.times(1, 5, atom);
  const one = from.inputs.length === 1 && from.inputs[0]?.kind !== "join";
  if (features.has("window") && one && want === undefined) {
    made.push(...draw.times(1, 2, () => makeWindow(draw, from.atoms)));
  }
  if (features.has("unnest") && want === undefined && draw.chance(70)) {
    made.push(scalar("INTEGER")`unnest(${expressions.make(LIST, 1)})`);
  }
  if (want === undefined) made.push(...subqueryValues(context, from.atoms));
  const { items, columns } = name(context, made);
  const qualify = features.has("qualify") && one && draw.chance(70) ? oddRowNumbers(draw, from.atoms) : null;
  return { select: select({ items, from: from.inputs, qualify }), columns, size: from.size };
}

/** Subqueries as values, which show whether they are false or NULL. */
function subqueryValues(context: Context, atoms: readonly Expression[]): Expression[] {
  if (!context.features.has("subqueryValue") || !context.draw.chance(70)) return [];
  return context.draw.times(1, 2, () => makeSubquery(context, atoms)).filter((made) => made !== null);
}

/** Names the items: mostly made-up aliases, sometimes the column's own name with or without AS. */
function name(context: Context, expressions: readonly Expression[]): { items: ExpressionItem[]; columns: Column[] } {
  const { draw } = context;
  const used = new Set<string>();
  const items: ExpressionItem[] = [];
  const columns: Column[] = [];
  for (const expression of expressions) {
    const own = expression.kind === "column" && !used.has(expression.name.toLowerCase()) ? expression.name : null;
    let made = items.length;
    while (used.has(`c${made}`)) made++;
    const chosen = own !== null && draw.chance(45) ? own : `c${made}`;
    used.add(chosen.toLowerCase());
    items.push({ kind: "expression", expression, alias: chosen === own && draw.chance(70) ? null : chosen });
    columns.push({ name: chosen, type: expression.type, exact: expression.exact });
  }
  return { items, columns };
}

/** `*`, `* EXCLUDE (…)` or `relation.*`, where the names are unique. */
function makeStar(context: Context, from: From): MadeSelect | null {
  const { draw } = context;
  const qualified = from.atoms.filter((atom) => atom.relation !== null);
  const names = new Set(qualified.map((atom) => atom.name.toLowerCase()));
  const merged = qualified.length < from.atoms.length && from.inputs[0]?.kind === "join";
  if (names.size < qualified.length || merged || hasSemiJoin(from)) return null;
  const column = ({ name, type, exact }: Column): Column => ({ name, type, exact });
  const relations = [...new Set(qualified.map((atom) => atom.relation ?? ""))];
  let item: Item = { kind: "star", sql: "*" };
  let columns = qualified.map(column);
  if (relations.length > 1 && draw.chance(40)) {
    const relation = draw.pick(relations);
    item = { kind: "star", sql: `${identifier(relation)}.*` };
    columns = qualified.filter((atom) => atom.relation === relation).map(column);
  } else if (columns.length > 1 && draw.chance(30)) {
    const dropped = draw.pick(columns);
    item = { kind: "star", sql: `* EXCLUDE (${identifier(dropped.name)})` };
    columns = columns.filter((each) => each !== dropped);
  }
  return { select: select({ items: [item], from: from.inputs }), columns, size: from.size };
}

function hasSemiJoin(from: From): boolean {
  return from.inputs.some((input) => input.kind === "join" && (input.type === "SEMI" || input.type === "ANTI"));
}

function grouped(context: Context, from: From, want?: readonly SqlType[]): MadeSelect {
  const { draw, features } = context;
  const before = new ExpressionMaker(draw, from.atoms);
  const keys = groupKeys(context, from, before);
  const calls = new AggregateMaker(draw, from.atoms, before, otherAggregates(features));
  const aggregates = draw.times(1, 3, () => calls.make());
  const all = keys.length > 0 && want === undefined && draw.chance(20);
  // Under GROUP BY ALL every expression without an aggregate is a key, so the two are not mixed in one item.
  const after = new ExpressionMaker(draw, all ? aggregates : [...keys, ...aggregates]);
  const mixed = draw.times(0, 2, () => after.make(draw.pick(aggregates).type, 2));
  const shown = [
    ...aggregates.filter(() => draw.chance(80)),
    ...mixed.filter((each) => !all || containsAggregate(each)),
  ];
  const selected = all ? keys : keys.filter(() => draw.chance(85));
  const made = want?.map((type) => after.make(type, 1)) ?? [
    ...selected,
    ...(shown.length > 0 ? shown : aggregates.slice(0, 1)),
  ];
  const named = keys.filter((key) => key.kind === "column");
  if (want === undefined && !all && named.length > 0) made.push(...subqueryValues(context, named));
  const { items, columns } = name(context, want === undefined ? draw.shuffle(made) : made);
  const timed = features.has("time") && draw.chance(30);
  const having = timed ? timeCondition(draw, [...keys, ...aggregates]) : draw.chance(22) ? after.condition(1) : null;
  const sets = features.has("groupingSets") && keys.length > 0 && !all;
  const grouping: Grouping = all
    ? { kind: "all" }
    : sets
      ? { kind: "sets", how: draw.pick(["ROLLUP", "CUBE"]), keys }
      : { kind: "keys", keys: keys.map((key) => groupKey(context, key, items, from)) };
  const holds = grouping.kind !== "keys" || keys.length > 0;
  const size = holds ? Math.min(from.size, 4 ** Math.max(1, keys.length)) : 1;
  return { select: select({ items, from: from.inputs, grouping: holds ? grouping : null, having }), columns, size };
}

function groupKeys(context: Context, from: From, expressions: ExpressionMaker): Expression[] {
  const { draw } = context;
  const count = draw.weighted([
    [20, 0],
    [45, 1],
    [25, 2],
    [10, 3],
  ]);
  const keys: Expression[] = [];
  for (let index = 0; index < count; index++) {
    const made = draw.chance(70) ? draw.pick(from.atoms) : expressions.any(1);
    if (readsColumn(made)) keys.push(made);
  }
  return keys;
}

function groupKey(context: Context, expression: Expression, items: readonly ExpressionItem[], from: From): GroupKey {
  const item = items.find((each) => each.expression === expression && each.alias !== null);
  const by = context.draw.weighted([
    [60, "expression"],
    [20, "ordinal"],
    [20, "alias"],
  ] as const);
  // An alias that is also a column's name would mean the column.
  const usable = by === "ordinal" || !from.atoms.some((atom) => atom.name === item?.alias);
  return { expression, by: usable ? by : "expression", item: item?.alias ?? null };
}

function containsAggregate(expression: Expression): boolean {
  if (expression.kind !== "call") return false;
  return expression.role === "aggregate" || expression.args.some(containsAggregate);
}
