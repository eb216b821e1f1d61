/** Random FROM clauses: one to five inputs, joined in every way that the view may use. */

import {
  aggregate,
  type Column,
  type ColumnReference,
  type Expression,
  type Input,
  type JoinInput,
  type JoinType,
  literal,
  type Select,
  scalar,
  select,
  simpleQuery,
} from "../ast.js";
import { type Context, inner, type Source } from "./context.js";
import { ExpressionMaker, isOrdered } from "./expression.js";
import { makePivot } from "./pivot.js";
import { LIST, TABLE_TYPES, typedLiteral } from "./values.js";

const MANY_ROWS = 1200;

/** Every table of a lake has these, though no star shows them, so such a name is never unique in a join. */
const HIDDEN = new Set(["rowid", "snapshot_id"]);

export interface From {
  readonly inputs: readonly Input[];
  readonly atoms: readonly ColumnReference[];
  /** Join conditions of inputs that commas separate. */
  readonly conditions: readonly Expression[];
  readonly size: number;
}

/** A relation or a join of several while it is being put together. */
interface Part {
  readonly input: Input;
  readonly atoms: readonly ColumnReference[];
  /** Unqualified names and how many columns answer to each. */
  readonly names: ReadonlyMap<string, number>;
  readonly size: number;
}

export function makeFrom(context: Context, maxInputs = 5): From {
  const { draw } = context;
  const count = Math.min(
    maxInputs,
    draw.weighted([
      [34, 1],
      [36, 2],
      [18, 3],
      [8, 4],
      [4, 5],
    ]),
  );
  const commas: Part[] = [];
  const conditions: Expression[] = [];
  let part = makePart(context);
  for (let index = 1; index < count; index++) {
    const size = part.size * commas.reduce((product, other) => product * other.size, 1);
    if (size > MANY_ROWS) break;
    if (context.features.has("asof") && draw.chance(60)) {
      part = asofJoin(context, part) ?? part;
      continue;
    }
    let right = makePart(context);
    if (draw.chance(10) && index + 1 < count) right = join(context, right, makePart(context));
    if (draw.chance(14)) {
      const predicate = joinPredicate(context, part, right);
      if (predicate !== null) conditions.push(predicate);
      commas.push(predicate === null ? part : { ...part, size: Math.max(2, part.size / 3) });
      part = right;
    } else {
      part = join(context, part, right);
    }
  }
  const parts = [...commas, part];
  return {
    inputs: parts.map((each) => each.input),
    atoms: parts.length === 1 ? withMerged(part) : parts.flatMap((each) => each.atoms),
    conditions,
    size: parts.reduce((product, each) => product * each.size, 1),
  };
}

/** Columns whose name is unique, and those that USING or NATURAL merged, can also be named without their relation. */
function withMerged(part: Part): ColumnReference[] {
  const merged = part.atoms.filter((atom, index) => {
    const first = part.atoms.findIndex((other) => other.name === atom.name) === index;
    return first && part.names.get(atom.name) === 1 && !HIDDEN.has(atom.name);
  });
  return [...part.atoms, ...merged.map((atom) => ({ ...atom, relation: null }))];
}

function makePart(context: Context): Part {
  const { draw } = context;
  if (context.depth > 0 && draw.chance(22)) {
    const made = context.nested(inner(context));
    const alias = context.fresh("q");
    return part({ kind: "derived", query: made.query, alias, lateral: false }, alias, made.columns, made.size);
  }
  if (draw.chance(4)) return valuesPart(context);
  const source = pickSource(context);
  const pivot = context.features.has("pivot") && draw.chance(60) ? makePivot(context, source) : null;
  if (pivot !== null) {
    const alias = context.fresh("q");
    return part({ kind: "text", sql: pivot.sql, alias }, alias, pivot.columns, pivot.size);
  }
  const name = source.path.at(-1) ?? "";
  const own = draw.chance(15) && context.fresh(name) === name;
  const alias = own ? null : context.fresh("r");
  return part({ kind: "table", path: source.path, alias }, alias ?? name, source.columns, source.size);
}

export function pickSource(context: Context): Source {
  return context.draw.weighted(context.sources.map((source) => [source.weight, source] as const));
}

function part(input: Input, relation: string, columns: readonly Column[], size: number): Part {
  return {
    input,
    atoms: columns.map((column) => ({ kind: "column", relation, ...column })),
    names: new Map(columns.map((column) => [column.name, 1])),
    size,
  };
}

function valuesPart(context: Context): Part {
  const { draw } = context;
  const types = ["INTEGER", ...draw.sample(TABLE_TYPES, draw.integer(0, 2))];
  const rows = draw.times(1, 3, () => types.map((type) => typedLiteral(draw, type)));
  const alias = context.fresh("q");
  const columns = types.map((type, index) => ({ name: `col${index}`, type, exact: true }));
  const query = simpleQuery({ kind: "values", rows });
  return part({ kind: "derived", query, alias, lateral: false }, alias, columns, rows.length);
}

function join(context: Context, left: Part, right: Part): Part {
  const { draw, features } = context;
  const large = left.size * right.size > MANY_ROWS;
  const types: (readonly [number, JoinType])[] = [[60, "INNER"]];
  if (!large) types.push([6, "CROSS"]);
  if (features.has("outerJoin")) types.push([50, "LEFT"], [20, "RIGHT"], [20, "FULL"]);
  if (features.has("semiJoin")) types.push([50, "SEMI"], [40, "ANTI"]);
  const type = draw.weighted(types);
  const condition = type === "CROSS" ? ({ kind: "none" } as const) : joinCondition(context, left, right, type);
  if (condition === null) return combine(left, right, "CROSS", { kind: "none" }, []);
  return combine(left, right, type, condition, mergedNames(left, right, condition));
}

/** An ASOF join with groups, so that each key and moment has one partner; null where no types meet. */
function asofJoin(context: Context, left: Part): Part | null {
  const { draw } = context;
  const source = pickSource(context);
  const inner = context.fresh("r");
  const columns = source.columns.map((column): ColumnReference => ({ kind: "column", relation: inner, ...column }));
  const pairs = left.atoms.flatMap((a) => columns.filter((b) => b.type === a.type).map((b) => [a, b] as const));
  const ordered = pairs.filter(([a]) => isOrdered(a.type));
  if (ordered.length === 0) return null;
  const [compared, order] = draw.pick(ordered);
  const [subject, key] = draw.pick(pairs);
  const value = draw.pick(columns.filter((column) => isOrdered(column.type)));
  const keyed = draw.chance(80);
  const items = [
    { expression: keyed ? key : order, alias: "asof_key" },
    { expression: order, alias: "asof_order" },
    { expression: aggregate(value.type, value.exact)`MAX(${value})`, alias: "asof_value" },
  ];
  const body = select({
    items: items.map((item) => ({ kind: "expression", ...item })),
    from: [{ kind: "table", path: source.path, alias: inner }],
    grouping: {
      kind: "keys",
      keys: (keyed ? [key, order] : [order]).map((expression) => ({ expression, by: "expression", item: null })),
    },
  });
  const alias = context.fresh("q");
  const given = items.map(({ expression: { type, exact }, alias: name }) => ({ name, type, exact }));
  const right = part({ kind: "derived", query: simpleQuery(body), alias, lateral: false }, alias, given, source.size);
  const [inKey, inOrder] = right.atoms as [ColumnReference, ColumnReference];
  const bool = scalar("BOOLEAN");
  const operator = literal("", draw.pick([">=", ">", "<=", "<"]));
  const nearest = bool`${compared} ${operator} ${inOrder}`;
  const predicate = keyed ? bool`${subject} = ${inKey} AND ${nearest}` : nearest;
  const type = draw.pick(["ASOF", "ASOF LEFT"] as const);
  return { ...combine(left, right, type, { kind: "on", predicate }, []), size: left.size };
}

function combine(
  left: Part,
  right: Part,
  type: JoinType,
  condition: JoinInput["condition"],
  merged: readonly string[],
): Part {
  const input: JoinInput = { kind: "join", type, left: left.input, right: right.input, condition };
  if (type === "SEMI" || type === "ANTI") return { ...left, input };
  const names = new Map(left.names);
  for (const [name, count] of right.names) names.set(name, (names.get(name) ?? 0) + count);
  for (const name of merged) names.set(name, 1);
  const size = condition.kind === "none" ? left.size * right.size : Math.max(2, (left.size * right.size) / 3);
  return { input, atoms: [...left.atoms, ...right.atoms], names, size };
}

function joinCondition(context: Context, left: Part, right: Part, type: JoinType): JoinInput["condition"] | null {
  const { draw } = context;
  const common = commonNames(left, right);
  const shared = [...left.names.keys()].filter((name) => right.names.has(name));
  if (common.length > 0 && draw.chance(18)) {
    return { kind: "using", columns: draw.sample(common, draw.integer(1, Math.min(2, common.length))) };
  }
  const natural = common.length > 0 && common.length === shared.length && type !== "SEMI" && type !== "ANTI";
  if (natural && draw.chance(20)) return { kind: "natural" };
  const predicate = joinPredicate(context, left, right);
  return predicate === null ? null : { kind: "on", predicate };
}

/** Names that mean one column on each side, with the same type. */
function commonNames(left: Part, right: Part): string[] {
  return [...left.names.keys()].filter((name) => {
    if (left.names.get(name) !== 1 || right.names.get(name) !== 1) return false;
    const [a, b] = [left, right].map((side) => side.atoms.find((atom) => atom.name === name));
    return a !== undefined && a.type === b?.type;
  });
}

function mergedNames(left: Part, right: Part, condition: JoinInput["condition"]): readonly string[] {
  if (condition.kind === "using") return condition.columns;
  return condition.kind === "natural" ? commonNames(left, right) : [];
}

/** A predicate over both sides, with an equality in it for all but small inputs; null where no types meet. */
function joinPredicate(context: Context, left: Part, right: Part): Expression | null {
  const { draw } = context;
  const bool = scalar("BOOLEAN");
  const pairs = left.atoms.flatMap((a) => right.atoms.filter((b) => b.type === a.type).map((b) => [a, b] as const));
  const keys = pairs.filter(([a]) => a.type === "INTEGER" || a.type === "VARCHAR");
  if (pairs.length === 0) return null;
  const [a, b] = draw.pick(keys.length > 0 && draw.chance(85) ? keys : pairs);
  const equality = draw.weighted<() => Expression>([
    [70, () => bool`${a} = ${b}`],
    [8, () => bool`${b} = ${a}`],
    [10, () => bool`${a} IS NOT DISTINCT FROM ${b}`],
    [6, () => (a.type === "INTEGER" ? bool`${a} % 3 = ${b}` : bool`${a} = ${b}`)],
    [6, () => bool`COALESCE(${a}, ${typedLiteral(draw, a.type)}) = ${b}`],
  ])();
  if (left.size * right.size < 250 && draw.chance(15)) {
    return draw.pick([
      () => bool`${a} < ${b}`,
      () => bool`${a} <> ${b}`,
      () => (isOrdered(a.type) ? bool`${a} BETWEEN ${b} AND ${typedLiteral(draw, a.type)}` : bool`${a} >= ${b}`),
      () => bool`(${equality} OR ${a} IS NULL)`,
      () => literal("BOOLEAN", "true"),
    ])();
  }
  if (!draw.chance(12)) return equality;
  const more = new ExpressionMaker(draw, [...left.atoms, ...right.atoms]).condition(0);
  return bool`${equality} AND ${more}`;
}

/** `FROM source AS r, LATERAL (SELECT … )`: the second input reads the first one's columns. */
export function makeLateral(context: Context): From {
  const { draw } = context;
  const source = pickSource(context);
  const outer = context.fresh("r");
  const first = part({ kind: "table", path: source.path, alias: outer }, outer, source.columns, source.size);
  const { body, value, size } = lateralBody(context, first);
  const name = context.fresh("q");
  const input = { kind: "derived", query: simpleQuery(body), alias: name, lateral: true } as const;
  const right = part(input, name, [{ name: "z", type: value.type, exact: value.exact }], size);
  // A row of aggregates is always there, and columns of the inner table alone can be padded.
  const padded = (size === 1 || value.kind === "column") && draw.chance(40);
  const condition = { kind: "on", predicate: literal("BOOLEAN", "true") } as const;
  return {
    inputs: padded
      ? [{ kind: "join", type: "LEFT", left: first.input, right: input, condition }]
      : [first.input, right.input],
    atoms: [...first.atoms, ...right.atoms],
    conditions: [],
    size: source.size * right.size,
  };
}

interface LateralBody {
  readonly body: Select;
  readonly value: Expression;
  readonly size: number;
}

function lateralBody(context: Context, first: Part): LateralBody {
  const { draw } = context;
  const other = pickSource(context);
  const alias = context.fresh("r");
  const second = part({ kind: "table", path: other.path, alias }, alias, other.columns, other.size);
  const rows = (value: Expression, size: number): LateralBody => {
    const where = joinPredicate(context, first, second);
    return { body: select({ items: [item(value)], from: [second.input], where }), value, size };
  };
  const elements = (list: Expression): LateralBody => {
    const value = scalar("INTEGER")`unnest(${list})`;
    return { body: select({ items: [item(value)], from: [] }), value, size: 2 };
  };
  const item = (expression: Expression) => ({ kind: "expression", expression, alias: "z" }) as const;
  const lists = first.atoms.filter((atom) => atom.type === LIST);
  const ordered = second.atoms.filter((atom) => isOrdered(atom.type));
  return draw.weighted<() => LateralBody>([
    [40, () => rows(new ExpressionMaker(draw, [...first.atoms, ...second.atoms]).any(1), other.size / 2)],
    [20, () => rows(draw.pick(second.atoms), other.size / 2)],
    [20, () => rows(aggregate("BIGINT")`COUNT(*)`, 1)],
    ...ordered.map((value) => [5, () => rows(aggregate(value.type, value.exact)`MAX(${value})`, 1)] as const),
    ...lists.map((list) => [40, () => elements(list)] as const),
  ])();
}
