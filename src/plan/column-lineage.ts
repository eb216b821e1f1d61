import type { ColumnOrigin, RowOrigin } from "../types.js";
import { type ColumnId, type Expression, inputsOf, type Relation } from "./relation.js";

interface PlanLineage {
  /** The origins of any column of the plan. */
  readonly originsOf: (column: ColumnId) => readonly ColumnOrigin[];
  readonly rows: readonly RowOrigin[];
}

/**
 * Where the columns and the rows of a relation come from. Ids are unique in a plan, so one pass from the scans upwards
 * knows the origins of every column that is read on the way.
 */
export function columnLineage(relation: Relation): PlanLineage {
  const lineage = new Lineage();
  lineage.visit(relation);
  return { originsOf: (column) => lineage.of(column), rows: lineage.rows() };
}

class Lineage {
  private readonly origins = new Map<ColumnId, readonly ColumnOrigin[]>();
  private readonly rowOrigins = new Map<string, RowOrigin>();

  of(column: ColumnId): readonly ColumnOrigin[] {
    return this.origins.get(column) ?? [];
  }

  rows(): readonly RowOrigin[] {
    return [...this.rowOrigins.values()];
  }

  visit(relation: Relation): void {
    for (const input of inputsOf(relation)) this.visit(input);
    switch (relation.kind) {
      case "scan":
        for (const { id, name } of relation.columns) {
          this.origins.set(id, [{ source: relation.source, column: name, kind: "identity" }]);
        }
        return;
      case "project":
        for (const { id, expression } of relation.columns) this.compute(id, expression);
        return;
      case "filter":
      case "time-filter":
        this.decide("filter", [relation.predicate]);
        return;
      case "join":
        this.decide("join", relation.predicates);
        return;
      case "outer-join":
      case "semi-join":
        this.decide("join", [relation.predicate]);
        return;
      case "asof-join": {
        const pairs = [...relation.keys, relation.order];
        this.decide(
          "join",
          pairs.flatMap(({ left, right }) => [left, right]),
        );
        return;
      }
      case "mark-join": {
        const conditions = [relation.correlation, ...(relation.comparison === null ? [] : [relation.comparison])];
        this.derive(
          relation.mark,
          conditions.flatMap(({ columns }) => columns),
          "transformation",
        );
        return;
      }
      case "aggregate":
        for (const { id, expression } of relation.keys) this.compute(id, expression);
        for (const { id, expression } of relation.calls) this.derive(id, expression.columns, "aggregation");
        this.decide(
          "group_by",
          relation.keys.map(({ expression }) => expression),
        );
        return;
      case "window":
        for (const { id, expression } of relation.columns) this.derive(id, expression.columns, "transformation");
        this.decide("window", relation.partition);
        return;
      case "union-all":
        relation.columns.forEach((id, index) => {
          const branches = relation.branches.map(({ columns }) => this.of(columns[index] ?? ""));
          this.origins.set(id, distinct(branches.flat()));
        });
        return;
      case "limit":
        this.decide(
          "sort",
          relation.orders.map(({ expression }) => expression),
        );
        return;
      default:
        return;
    }
  }

  /** A column that is only handed on keeps its origins. */
  private compute(id: ColumnId, expression: Expression): void {
    if (expression.ref === undefined) this.derive(id, expression.columns, "transformation");
    else this.origins.set(id, this.of(expression.ref));
  }

  private derive(id: ColumnId, columns: readonly ColumnId[], kind: "transformation" | "aggregation"): void {
    const derived = columns
      .flatMap((column) => this.of(column))
      .map((origin): ColumnOrigin => (origin.kind === "aggregation" ? origin : { ...origin, kind }));
    this.origins.set(id, distinct(derived));
  }

  private decide(kind: RowOrigin["kind"], expressions: readonly Expression[]): void {
    for (const column of expressions.flatMap((expression) => expression.columns)) {
      for (const { source, column: name } of this.of(column)) {
        this.rowOrigins.set(JSON.stringify([kind, source, name]), { source, column: name, kind });
      }
    }
  }
}

function distinct(origins: readonly ColumnOrigin[]): readonly ColumnOrigin[] {
  return [
    ...new Map(origins.map((origin) => [JSON.stringify([origin.source, origin.column, origin.kind]), origin])).values(),
  ];
}
