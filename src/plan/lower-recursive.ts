import { type Ast, child, children, text, texts } from "../sql/ast.js";
import type { Environment, LoweredQuery, Lowering } from "./lower.js";
import { lowerSetOperation } from "./lower-set.js";
import { isIteration, type Recursion, readsOtherIteration, recursionSources, traceIteration } from "./recursion.js";
import { outputOf, type Relation, scansOf } from "./relation.js";
import { Unsupported } from "./unsupported.js";

/**
 * A recursive common table expression as a scan of its own rows, which the view stores. One that is named at several
 * places is planned once.
 */
export function lowerRecursion(lowering: Lowering, node: Ast, env: Environment): LoweredQuery {
  const known = lowering.recursions.get(node);
  if (known !== undefined) return read(lowering, known);
  refuseForm(node);
  const anchor = lowering.query(child(node, "left"), env);
  const name = text(node, "cte_name");
  const { source, iteration } = recursionSources(freeName(lowering, name));
  const columns = uniqueNames(texts(node, "aliases"), anchor);
  const inside = new Map(env).set(name.toLowerCase(), { iteration: { name, source: iteration, columns } });
  const step = lowering.query(child(node, "right"), inside);
  if (!scansOf(step.relation).some((scan) => isIteration(scan.source))) return plainUnion(lowering, node, env);
  const recursion: Recursion = { name, source, iteration, columns, anchor: rows(anchor), step: rows(step) };
  requireLinear(recursion);
  lowering.recursions.set(node, recursion);
  return read(lowering, recursion);
}

/** WITH RECURSIVE says that an expression may name itself, not that it does. */
function plainUnion(lowering: Lowering, node: Ast, env: Environment): LoweredQuery {
  return lowerSetOperation(lowering, { ...node, setop_type: "UNION", setop_all: false }, env);
}

function refuseForm(node: Ast): void {
  if (children(node, "key_targets").length > 0) {
    throw new Unsupported(
      "recursive_using_key",
      "a recursive common table expression with USING KEY goes by the order in which rows are found, and has no incremental rule",
    );
  }
  if (node["union_all"] === true) {
    throw new Unsupported(
      "recursive_union_all",
      "a recursive common table expression with UNION ALL has a copy of a row for each way to it, and no incremental rule",
    );
  }
}

function requireLinear({ name, iteration, anchor, step }: Recursion): void {
  if ([anchor, step].some((part) => readsOtherIteration(part.relation, iteration))) {
    throw new Unsupported(
      "recursive_nested",
      `the recursive common table expression ${name} reads the rounds of another one around it, which has no incremental rule`,
    );
  }
  const create = (id: string): string => `${id}.from`;
  if (traceIteration(step.relation, { iteration, create }) !== undefined) return;
  const times = scansOf(step.relation).filter((scan) => scan.source === iteration).length;
  throw new Unsupported(
    "recursive_not_linear",
    times > 1
      ? `the recursive common table expression ${name} joins its rows with each other, which has no incremental rule`
      : `the recursive common table expression ${name} does more with its rows than to take each for itself, which has no incremental rule`,
  );
}

/** The rows of a round, where the step names its own table. */
export function readIteration(lowering: Lowering, iteration: Iteration): LoweredQuery {
  return scan(lowering, iteration.source, iteration.name, iteration.columns);
}

/** What the name of a recursive common table expression means inside of its step. */
export interface Iteration {
  readonly name: string;
  readonly source: string;
  readonly columns: readonly string[];
}

function read(lowering: Lowering, { source, name, columns }: Recursion): LoweredQuery {
  return scan(lowering, source, name, columns);
}

function scan(lowering: Lowering, source: string, alias: string, names: readonly string[]): LoweredQuery {
  lowering.occurrences += 1;
  const columns = names.map((name) => ({ id: lowering.id(name), name }));
  const relation: Relation = { kind: "scan", source, occurrence: lowering.occurrences, alias, columns, version: "new" };
  return { relation, columns };
}

function rows({ relation, columns }: LoweredQuery): Recursion["anchor"] {
  const output = columns.map((column) => column.id);
  if (output.length !== new Set(output).size || output.some((id) => !outputOf(relation).includes(id))) {
    throw new Unsupported("recursive_columns", "a recursive common table expression names one column twice");
  }
  return { relation, output };
}

function freeName(lowering: Lowering, name: string): string {
  const taken = new Set([...lowering.recursions.values()].map((recursion) => recursion.source));
  for (let suffix = 1; ; suffix += 1) {
    const candidate = suffix === 1 ? name : `${name} ${suffix}`;
    if (!taken.has(recursionSources(candidate).source)) return candidate;
  }
}

function uniqueNames(aliases: readonly string[], { columns }: LoweredQuery): string[] {
  const taken = new Set<string>();
  return columns.map((column, index) => {
    const wanted = aliases[index] ?? (column.name || "column");
    let name = wanted;
    for (let suffix = 1; taken.has(name.toLowerCase()); suffix += 1) name = `${wanted}_${suffix}`;
    taken.add(name.toLowerCase());
    return name;
  });
}
