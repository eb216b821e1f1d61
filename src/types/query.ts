/** The builder's queries as data: what its compiler makes SQL of. Every node is frozen. */

/** A value in a query. */
export type ExpressionNode =
  /** `column`, or `alias.column` where the alias is in scope. */
  | { readonly kind: "column"; readonly name: string }
  | { readonly kind: "literal"; readonly value: string | number | bigint | boolean | null }
  /** SQL text with parts between its pieces: `texts` has one more than `values`. */
  | {
      readonly kind: "template";
      readonly texts: readonly string[];
      readonly values: readonly (ExpressionNode | QueryNode)[];
    };

/** A value under a name. */
export interface NamedNode {
  readonly name: string;
  readonly expression: ExpressionNode;
}

/** Kinds of joins. */
export type JoinKind = "inner" | "left" | "right" | "full" | "semi" | "anti" | "cross" | "asof" | "asof_left";

/** Two sides joined. */
export interface JoinNode {
  readonly kind: "join";
  readonly join: JoinKind;
  readonly left: QueryNode;
  readonly right: QueryNode;
  /** Columns that both sides have, equal and merged into one. */
  readonly using: readonly string[] | null;
  /** Columns of the left side and of the right side that are equal. */
  readonly pairs: readonly { readonly left: string; readonly right: string }[];
  readonly on: ExpressionNode | null;
}

/** Rows with values that run along an order. */
export interface AccumulateNode {
  readonly kind: "accumulate";
  readonly input: QueryNode;
  readonly by: readonly ExpressionNode[];
  readonly along: readonly { readonly expression: ExpressionNode; readonly descending: boolean }[];
  /** `frame` is the number of rows up to the present one; null for all rows from the first on. */
  readonly columns: readonly (NamedNode & { readonly frame: number | null })[];
}

/** A query. */
export type QueryNode =
  | {
      readonly kind: "source";
      readonly schema: string | null;
      readonly table: string;
      readonly alias: string | null;
    }
  | { readonly kind: "alias"; readonly input: QueryNode; readonly alias: string }
  | JoinNode
  | { readonly kind: "where"; readonly input: QueryNode; readonly condition: ExpressionNode }
  | {
      readonly kind: "select";
      readonly input: QueryNode;
      /** A string is all columns of that alias, null those of every source. */
      readonly items: readonly (NamedNode | { readonly all: string | null })[];
    }
  | { readonly kind: "distinct"; readonly input: QueryNode }
  | {
      readonly kind: "aggregate";
      readonly input: QueryNode;
      readonly by: readonly NamedNode[];
      readonly aggregates: readonly NamedNode[];
    }
  | AccumulateNode
  | { readonly kind: "union"; readonly all: boolean; readonly inputs: readonly [QueryNode, QueryNode] }
  /** Any SELECT. */
  | { readonly kind: "text"; readonly sql: ExpressionNode };
