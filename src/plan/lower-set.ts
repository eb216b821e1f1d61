import { type Ast, child, text } from "../sql/ast.js";
import type { Environment, LoweredQuery, Lowering } from "./lower.js";
import { columnExpression, expression, keepColumns, type Relation, type UnionAll } from "./relation.js";
import { Unsupported } from "./unsupported.js";

/** UNION, EXCEPT and INTERSECT, with and without ALL, and UNION BY NAME. */
export function lowerSetOperation(lowering: Lowering, node: Ast, env: Environment): LoweredQuery {
  const left = lowering.query(child(node, "left"), env);
  const right = lowering.query(child(node, "right"), env);
  const all = node["setop_all"] === true;
  switch (text(node, "setop_type")) {
    case "UNION": {
      const union = unionAll(lowering, left, right);
      return all ? union : distinct(union);
    }
    case "UNION_BY_NAME": {
      const union = unionAll(lowering, ...alignByName(lowering, left, right));
      return all ? union : distinct(union);
    }
    case "EXCEPT":
      return byCounts(lowering, left, right, (l, r) =>
        all ? { count: expression`${l} - ${r}` } : { keep: expression`${l} > 0 AND ${r} = 0` },
      );
    case "INTERSECT":
      return byCounts(lowering, left, right, (l, r) =>
        all ? { count: expression`least(${l}, ${r})` } : { keep: expression`${l} > 0 AND ${r} > 0` },
      );
    default:
      throw new Unsupported("set_operation", `${text(node, "setop_type")} has no incremental rule`);
  }
}

function unionAll(lowering: Lowering, left: LoweredQuery, right: LoweredQuery): LoweredQuery {
  const columns = left.columns.map((column) => ({ name: column.name, id: lowering.id(column.name || "column") }));
  const ids = columns.map((column) => column.id);
  return { relation: { kind: "union-all", columns: ids, branches: [branch(left), branch(right)] }, columns };
}

function branch(query: LoweredQuery): UnionAll["branches"][number] {
  return { input: query.relation, columns: query.columns.map((column) => column.id) };
}

function distinct(query: LoweredQuery): LoweredQuery {
  const ids = query.columns.map((column) => column.id);
  return { ...query, relation: { kind: "aggregate", input: query.relation, keys: keepColumns(ids), calls: [] } };
}

/** Columns that one side lacks are NULL there. */
function alignByName(lowering: Lowering, left: LoweredQuery, right: LoweredQuery): [LoweredQuery, LoweredQuery] {
  const has = (query: LoweredQuery, name: string) =>
    query.columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
  const names = [...left.columns, ...right.columns.filter((column) => has(left, column.name) === undefined)].map(
    (column) => column.name,
  );
  if (names.some((name) => name === "")) {
    throw new Unsupported("unnamed_column", "UNION BY NAME over a column without a name has no incremental rule");
  }
  const align = (query: LoweredQuery): LoweredQuery => {
    const columns = names.map((name) => {
      const column = has(query, name);
      const value = column === undefined ? { sql: "NULL", columns: [] } : columnExpression(column.id);
      return { name, id: lowering.id(name), expression: value };
    });
    return {
      relation: {
        kind: "project",
        input: query.relation,
        columns: columns.map(({ id, expression }) => ({ id, expression })),
      },
      columns: columns.map(({ name, id }) => ({ name, id })),
    };
  };
  return [align(left), align(right)];
}

type ByCount =
  | { readonly count: ReturnType<typeof columnExpression> }
  | { readonly keep: ReturnType<typeof columnExpression> };

/** Copies of each row are counted on both sides; EXCEPT and INTERSECT are functions of the two counts. */
function byCounts(
  lowering: Lowering,
  left: LoweredQuery,
  right: LoweredQuery,
  rule: (left: ReturnType<typeof columnExpression>, right: ReturnType<typeof columnExpression>) => ByCount,
): LoweredQuery {
  const side = lowering.id("side");
  const tagged = (query: LoweredQuery, value: string): UnionAll["branches"][number] => {
    const ids = query.columns.map((column) => column.id);
    const tag = lowering.id("side");
    const input: Relation = {
      kind: "project",
      input: query.relation,
      columns: [...keepColumns(ids), { id: tag, expression: { sql: value, columns: [] } }],
    };
    return { input, columns: [...ids, tag] };
  };
  const columns = left.columns.map((column) => ({ name: column.name, id: lowering.id(column.name || "column") }));
  const ids = columns.map((column) => column.id);
  const union: Relation = {
    kind: "union-all",
    columns: [...ids, side],
    branches: [tagged(left, "true"), tagged(right, "false")],
  };
  const count = (filter: ReturnType<typeof columnExpression>) => ({
    id: lowering.id("copies"),
    name: "count_star",
    arguments: [],
    filter,
    distinct: false,
    ordered: false,
    expression: expression`count(*) FILTER (WHERE ${filter})`,
  });
  const [lefts, rights] = [count(columnExpression(side)), count(expression`NOT ${columnExpression(side)}`)];
  const counted: Relation = { kind: "aggregate", input: union, keys: keepColumns(ids), calls: [lefts, rights] };
  const decided = rule(columnExpression(lefts.id), columnExpression(rights.id));
  const kept: Relation =
    "count" in decided
      ? { kind: "repeat", input: counted, count: decided.count }
      : { kind: "filter", input: counted, predicate: decided.keep };
  return { relation: { kind: "project", input: kept, columns: keepColumns(ids) }, columns };
}
