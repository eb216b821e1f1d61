import {
  CLOCK,
  type ColumnId,
  type ColumnIds,
  columnExpression,
  type Expression,
  expression,
  keepColumns,
  outputOf,
  type Relation,
  type ScanColumn,
  scansOf,
} from "./relation.js";

/** The rows of one read of a source that rows of a plan come from. */
export interface Lineage {
  /** Gives the columns of the plan that can be told without computing it anew, and those of the source. */
  readonly relation: Relation;
  readonly source: readonly ScanColumn[];
  /**
   * False where rows may be among them that made nothing: where a condition on what was computed is left out. One on
   * groups, such as HAVING, does no harm where the result shows what it was grouped by, and its rows are asked for.
   */
  readonly exact: boolean;
}

interface Traced {
  readonly relation: Relation;
  readonly exact: boolean;
}

/**
 * Takes a plan apart for one of its reads: every row of the result comes with the row of the source that it was made
 * from. An aggregate gives the rows of its groups, a window those of its input, a LIMIT those that it picks among.
 * The read of interest is at the version `old`, all others stay at `new`. Null where the source tells by what is not in
 * it (an anti join's other side), or where the read stands inside a recursion.
 */
export function lineageOf(
  relation: Relation,
  occurrence: number,
  names: readonly string[],
  ids: ColumnIds,
): Lineage | null {
  const source = names.map((name) => ({ id: ids.create(name), name }));
  const tracer = new Tracer(occurrence, source);
  const traced = tracer.trace(relation);
  if (traced === null) return null;
  return { relation: traced.relation, source, exact: traced.exact && tracer.showsGroups(relation) };
}

class Tracer {
  private readonly passed: readonly ColumnId[];
  /** What the groups that were met are told apart by, under the ids that it has further up. */
  private keys: readonly { readonly shown: readonly ColumnId[] }[] = [];
  /** True where a condition on groups was left out. */
  private groupsCut = false;

  constructor(
    private readonly occurrence: number,
    private readonly source: readonly ScanColumn[],
  ) {
    this.passed = source.map((column) => column.id);
  }

  /** False where a condition on groups was left out that the result does not tell apart. */
  showsGroups(top: Relation): boolean {
    const output = outputOf(top);
    return !this.groupsCut || this.keys.every(({ shown }) => shown.some((id) => output.includes(id)));
  }

  trace(node: Relation): Traced | null {
    switch (node.kind) {
      case "scan": {
        if (node.occurrence !== this.occurrence) return null;
        return { relation: { ...node, version: "old", columns: [...node.columns, ...this.source] }, exact: true };
      }
      case "filter":
      case "time-filter": {
        const input = this.trace(node.input);
        if (input === null) return null;
        if (isKnown(node.predicate, input.relation)) return { ...input, relation: { ...node, input: input.relation } };
        if (node.input.kind !== "aggregate") return { ...input, exact: false };
        this.groupsCut = true;
        return input;
      }
      case "project": {
        const input = this.trace(node.input);
        if (input === null) return null;
        const columns = node.columns.filter((column) => isKnown(column.expression, input.relation));
        this.keys = this.keys.map(({ shown }) => {
          const renamed = columns.filter(({ expression: { ref } }) => ref !== undefined && shown.includes(ref));
          return { shown: renamed.map((column) => column.id) };
        });
        return this.project(input, columns);
      }
      case "aggregate": {
        const input = this.trace(node.input);
        this.keys = [...this.keys, ...node.keys.map(({ id }) => ({ shown: [id] }))];
        return (
          input &&
          this.project(
            input,
            node.keys.filter((key) => isKnown(key.expression, input.relation)),
          )
        );
      }
      case "window":
      case "repeat":
        return this.trace(node.input);
      case "limit": {
        const input = this.trace(node.input);
        return input && { ...input, exact: false };
      }
      case "union-all":
        return this.union(node);
      case "join":
        return this.join(node.inputs, node.predicates);
      case "outer-join": {
        const inLeft = this.reads(node.left);
        const keeps = node.side === "full" || node.side === (inLeft ? "left" : "right");
        // On the side that is padded only rows with a match are in the result.
        if (!keeps) return this.join([node.left, node.right], [node.predicate]);
        const own = this.trace(inLeft ? node.left : node.right);
        if (own === null) return null;
        const [left, right] = inLeft ? [own.relation, node.right] : [node.left, own.relation];
        if (!isKnown(node.predicate, left, right)) return { ...own, exact: false };
        return { ...own, relation: { ...node, side: inLeft ? "left" : "right", left, right } };
      }
      case "semi-join":
        if (this.reads(node.left)) return this.left(node, [node.predicate]);
        return node.anti ? null : this.join([node.left, node.right], [node.predicate]);
      case "mark-join": {
        const { comparison, correlation } = node;
        if (this.reads(node.left))
          return this.left(node, comparison === null ? [correlation] : [correlation, comparison]);
        const compared = comparison === null ? [] : [expression`(${comparison}) IS DISTINCT FROM false`];
        const joined = this.join([node.left, node.right], [correlation, ...compared]);
        return joined && { ...joined, exact: false };
      }
      case "asof-join": {
        const own = this.trace(this.reads(node.left) ? node.left : node.right);
        if (own === null) return null;
        const [left, right] = this.reads(node.left) ? [own.relation, node.right] : [node.left, own.relation];
        const conditions = [...node.keys, node.order].flatMap((pair) => [pair.left, pair.right]);
        if (!conditions.every((condition) => isKnown(condition, left, right))) return { ...own, exact: false };
        return { ...own, relation: { ...node, left, right } };
      }
      default:
        return null;
    }
  }

  private reads(relation: Relation): boolean {
    return scansOf(relation).some((scan) => scan.occurrence === this.occurrence);
  }

  private project(input: Traced, columns: readonly { id: ColumnId; expression: Expression }[]): Traced {
    return {
      ...input,
      relation: { kind: "project", input: input.relation, columns: [...columns, ...keepColumns(this.passed)] },
    };
  }

  /** A node whose left side holds the read, over what that side can tell. */
  private left(
    node: Extract<Relation, { kind: "semi-join" | "mark-join" }>,
    conditions: readonly Expression[],
  ): Traced | null {
    const left = this.trace(node.left);
    if (left === null) return null;
    if (!conditions.every((condition) => isKnown(condition, left.relation, node.right)))
      return { ...left, exact: false };
    return { ...left, relation: { ...node, left: left.relation } };
  }

  private join(inputs: readonly Relation[], predicates: readonly Expression[]): Traced | null {
    const position = inputs.findIndex((input) => this.reads(input));
    const input = inputs[position];
    const own = input === undefined ? null : this.trace(input);
    if (own === null) return null;
    const all = inputs.map((other, index) => (index === position ? own.relation : other));
    const known = predicates.filter((predicate) => isKnown(predicate, ...all));
    return {
      relation: { kind: "join", inputs: all, predicates: known },
      exact: own.exact && known.length === predicates.length,
    };
  }

  private union(node: Extract<Relation, { kind: "union-all" }>): Traced | null {
    const branch = node.branches.find(({ input }) => this.reads(input));
    const own = branch === undefined ? null : this.trace(branch.input);
    if (own === null || branch === undefined) return null;
    const columns = node.columns.map((id, index) => ({
      id,
      expression: columnExpression(branch.columns[index] ?? id),
    }));
    return this.project(
      own,
      columns.filter((column) => isKnown(column.expression, own.relation)),
    );
  }
}

function isKnown({ columns }: Expression, ...inputs: readonly Relation[]): boolean {
  const known = new Set([CLOCK, ...inputs.flatMap((input) => outputOf(input))]);
  return columns.every((column) => known.has(column));
}
