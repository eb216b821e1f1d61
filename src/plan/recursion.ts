import {
  type ColumnId,
  columnExpression,
  inputsOf,
  keepColumns,
  type Relation,
  readsClock,
  type Scan,
  scansOf,
} from "./relation.js";

/** A relation, and those of its columns that are meant, in order. */
export interface RowsOf {
  readonly relation: Relation;
  readonly output: readonly ColumnId[];
}

/**
 * A recursive common table expression with UNION: the least set R that holds the rows of `anchor` and, with each of its
 * rows, those that `step` makes of it. The plan reads R by scans of `source`; the step reads the rows that it goes on
 * from by scans of `iteration`. R itself is stored.
 */
export interface Recursion {
  readonly name: string;
  readonly source: string;
  readonly iteration: string;
  /** Names of the columns of R, unique without case. */
  readonly columns: readonly string[];
  readonly anchor: RowsOf;
  readonly step: RowsOf;
}

const RECURSION = "recursion:";
const ITERATION = "iteration:";

/** The sources by which a recursion is read. No table of a lake has such a name: theirs have a dot outside of quotes. */
export function recursionSources(name: string): { source: string; iteration: string } {
  return { source: `${RECURSION}${name}`, iteration: `${ITERATION}${name}` };
}

/** True for a source that is no table, but a recursion's own rows. */
export function isRecursive(source: string): boolean {
  return source.startsWith(RECURSION) || source.startsWith(ITERATION);
}

export function isIteration(source: string): boolean {
  return source.startsWith(ITERATION);
}

/** What is read where the step of a recursion is taken over all its stored rows. */
export function storedSource(source: string): string {
  return isIteration(source) ? `${RECURSION}${source.slice(ITERATION.length)}` : source;
}

interface Parts {
  readonly relation: Relation;
  readonly recursions?: readonly Recursion[];
}

/** All relations of a plan: what gives its rows, then the parts of its recursions. */
function partsOf({ relation, recursions = [] }: Parts): readonly Relation[] {
  return [relation, ...recursions.flatMap(({ anchor, step }) => [anchor.relation, step.relation])];
}

/** All places of a plan at which tables and views are read, those inside recursions as well. */
export function sourceScansOf(plan: Parts): readonly Scan[] {
  return partsOf(plan).flatMap((part) => scansOf(part).filter((scan) => !isRecursive(scan.source)));
}

/** True where some part of the plan depends on the time. */
export function planReadsClock(plan: Parts): boolean {
  return partsOf(plan).some(readsClock);
}

/** Recursions that the relation reads, itself or through others, in their order. */
export function usedRecursions(relation: Relation, recursions: readonly Recursion[]): Recursion[] {
  const used = new Set<string>();
  const visit = (part: Relation): void => {
    for (const { source } of scansOf(part)) {
      const recursion = recursions.find((candidate) => candidate.source === source);
      if (recursion === undefined || used.has(source)) continue;
      used.add(source);
      visit(recursion.anchor.relation);
      visit(recursion.step.relation);
    }
  };
  visit(relation);
  return recursions.filter((recursion) => used.has(recursion.source));
}

/** What a step makes of the rows of its iteration, each row with the columns of the one that it was made of. */
interface Traced {
  readonly relation: Relation;
  readonly from: readonly ColumnId[];
}

interface Tracing {
  readonly iteration: string;
  /** Gives the ids under which branches of a union show the columns that they go on from. */
  readonly create: (name: string) => ColumnId;
}

/**
 * The step with the columns of the iteration passed through to its top. Undefined where it is not linear as a set:
 * where what it makes of some rows is more, or less, than what it makes of each of them.
 */
export function traceIteration(relation: Relation, tracing: Tracing): Traced | undefined {
  switch (relation.kind) {
    case "scan":
      if (relation.source !== tracing.iteration) return undefined;
      return { relation, from: relation.columns.map((column) => column.id) };
    case "filter":
    case "time-filter": {
      const input = traceIteration(relation.input, tracing);
      return input && { ...input, relation: { ...relation, input: input.relation } };
    }
    case "project": {
      const input = traceIteration(relation.input, tracing);
      if (input === undefined) return undefined;
      const passed = input.from.filter((id) => !relation.columns.some((column) => column.id === id));
      const columns = [...relation.columns, ...keepColumns(passed)];
      return { ...input, relation: { ...relation, input: input.relation, columns } };
    }
    case "aggregate": {
      // DISTINCT: as a set it is its input.
      if (relation.calls.length > 0 || relation.keys.length === 0) return undefined;
      const input = traceIteration(relation.input, tracing);
      if (input === undefined) return undefined;
      const passed = input.from.filter((id) => !relation.keys.some((key) => key.id === id));
      const keys = [...relation.keys, ...keepColumns(passed)];
      return { ...input, relation: { ...relation, input: input.relation, keys } };
    }
    case "join": {
      const position = onlyPosition(relation.inputs, tracing);
      const input = position === undefined ? undefined : traceAt(relation.inputs, position, tracing);
      if (input === undefined) return undefined;
      const inputs = relation.inputs.map((other, index) => (index === position ? input.relation : other));
      return { ...input, relation: { ...relation, inputs } };
    }
    case "semi-join":
    case "mark-join":
    case "asof-join": {
      // Of the other side only a semi join takes any row for itself, and then it is a join as far as sets go.
      if (reads(relation.right, tracing)) {
        if (relation.kind !== "semi-join" || relation.anti) return undefined;
        const { left, right, predicate } = relation;
        return traceIteration({ kind: "join", inputs: [left, right], predicates: [predicate] }, tracing);
      }
      const left = traceIteration(relation.left, tracing);
      return left && { ...left, relation: { ...relation, left: left.relation } };
    }
    case "outer-join": {
      if (relation.side === "full") return undefined;
      const [kept, other] =
        relation.side === "left" ? ["left" as const, "right" as const] : (["right", "left"] as const);
      if (reads(relation[other], tracing)) return undefined;
      const input = traceIteration(relation[kept], tracing);
      return input && { ...input, relation: { ...relation, [kept]: input.relation } };
    }
    case "union-all":
      return traceUnion(relation, tracing);
    default:
      return undefined;
  }
}

function traceUnion(union: Extract<Relation, { kind: "union-all" }>, tracing: Tracing): Traced | undefined {
  const traced = union.branches.map((branch) => traceIteration(branch.input, tracing));
  const branches: { input: Relation; columns: readonly ColumnId[] }[] = [];
  // Every branch reads columns of its own; each gets a place, which the other branches leave NULL.
  const all = traced.flatMap((branch, position) => (branch?.from ?? []).map((id) => ({ id, position })));
  const from = all.map(({ id }) => tracing.create(id));
  for (const [position, branch] of traced.entries()) {
    const own = union.branches[position];
    if (branch === undefined || own === undefined) return undefined;
    const places = all.map((place, index) => ({
      id: from[index] ?? "",
      expression: place.position === position ? columnExpression(place.id) : { sql: "NULL", columns: [] },
    }));
    const columns = [...keepColumns(own.columns), ...places];
    branches.push({
      input: { kind: "project", input: branch.relation, columns },
      columns: [...own.columns, ...from],
    });
  }
  return { relation: { ...union, columns: [...union.columns, ...from], branches }, from };
}

function reads(relation: Relation, { iteration }: Tracing): boolean {
  return scansOf(relation).some((scan) => scan.source === iteration);
}

function onlyPosition(inputs: readonly Relation[], tracing: Tracing): number | undefined {
  const positions = inputs.flatMap((input, index) => (reads(input, tracing) ? [index] : []));
  return positions.length === 1 ? positions[0] : undefined;
}

function traceAt(inputs: readonly Relation[], position: number, tracing: Tracing): Traced | undefined {
  const input = inputs[position];
  return input === undefined ? undefined : traceIteration(input, tracing);
}

/** True where a part reads an iteration that is not its own. */
export function readsOtherIteration(relation: Relation, own: string): boolean {
  return (
    (relation.kind === "scan" && isIteration(relation.source) && relation.source !== own) ||
    inputsOf(relation).some((input) => readsOtherIteration(input, own))
  );
}
