/** What to write instead of a form that has no incremental rule, or one that reads all rows at each change. */
export interface Remedy {
  readonly rewrite: string;
  /** The page of docs/operators/ that tells more. */
  readonly page: string;
}

const SUBQUERY = "subqueries.md";

/** By the code of the reason, or of the advice. */
export const REMEDIES: Readonly<Record<string, Remedy>> = {
  limit: {
    rewrite:
      "Give the LIMIT an ORDER BY over all rows, end it in a unique column, and write its number out (at most 100,000 with the OFFSET). Or group below it: groups are stored and the LIMIT picks among them when the view is read.",
    page: "limit.md",
  },
  limit_inside: {
    rewrite:
      "Make the query with the LIMIT a view of its own and read that: its first rows are then stored as candidates. For the first rows of each group use QUALIFY row_number() OVER (PARTITION BY …) <= n, which reads changed partitions only.",
    page: "limit.md",
  },
  window_whole: {
    rewrite: "Give the window a PARTITION BY: only partitions with a changed row are then read.",
    page: "window.md",
  },
  plan_too_large: {
    rewrite:
      "Make the common table expressions that the definition reads several times views of their own: the delta of each is then computed once.",
    page: "inner-join.md",
  },
  group_whole: {
    rewrite:
      "Make the aggregate a view of its own and read that: at the top of a view its state is stored and the change folded into it.",
    page: "group-by.md",
  },
  groups_reread: {
    rewrite:
      "Put aggregates that have to see all values (median, list, string_agg …) into a view of their own, so that sums and counts beside them are folded. Sums of floating-point numbers are folded as DECIMAL, or with float_sums: fold.",
    page: "aggregates.md",
  },
  recursion_lost: {
    rewrite:
      "Rows that go make a recursion start anew. Where tables of the recursion only grow, nothing is to do; where rows are corrected, mark them and filter outside of the recursion.",
    page: "recursion.md",
  },
  recursive_union_all: {
    rewrite:
      "Write UNION instead of UNION ALL, where copies of a row are not meant: rows that come are then followed by steps.",
    page: "recursion.md",
  },
  recursive_not_linear: {
    rewrite:
      "Name the recursive table once in its step and join it with the table it goes along: path JOIN edges instead of path JOIN path. Put aggregates, windows and DISTINCT ON outside of the recursion.",
    page: "recursion.md",
  },
  recursive_using_key: {
    rewrite:
      "Write UNION without USING KEY, and pick the best row of each key outside of it, with min(…) or arg_min(…) and GROUP BY.",
    page: "recursion.md",
  },
  recursive_nested: {
    rewrite:
      "Write two recursive common table expressions, one after the other, instead of one inside the step of another.",
    page: "recursion.md",
  },
  recursive_columns: { rewrite: "Give each column of the recursion a name of its own.", page: "recursion.md" },
  recursive_type: { rewrite: "Cast the column to a type that Parquet has, for example VARCHAR.", page: "recursion.md" },
  unnamed_fields: {
    rewrite: "Name the fields of the row value: {'a': a, 'b': b} instead of (a, b).",
    page: "linear.md",
  },
  state_type: { rewrite: "Cast the value to a type that Parquet has, for example VARCHAR.", page: "aggregates.md" },
  positional_join: {
    rewrite: "Number the rows of both sides by an order, row_number() OVER (ORDER BY …), and join by the numbers.",
    page: "positional-join.md",
  },
  time_dependent: {
    rewrite:
      "Keep the column that the time is compared with in the view, and compute with now() when it is read; in WHERE, ON, HAVING or QUALIFY the time has a rule.",
    page: "time.md",
  },
  asof_join: {
    rewrite:
      "Write the ASOF join as INNER or LEFT, with ON: any equalities and one inequality; further conditions go to WHERE.",
    page: "asof-join.md",
  },
  join_form: { rewrite: "Write the join as INNER, LEFT, RIGHT, FULL, SEMI, ANTI or ASOF.", page: "inner-join.md" },
  lateral: {
    rewrite:
      "Write the right side as a plain join by its conditions; for the first rows of each outer row, number them with row_number() OVER (PARTITION BY …) and join the first ones.",
    page: "lateral.md",
  },
  table_function: { rewrite: "Store the function's rows in a table of the lake and read that.", page: "lateral.md" },
  subquery: {
    rewrite: "Write IN or NOT IN, or EXISTS with the comparison column by column.",
    page: SUBQUERY,
  },
  scalar_subquery: {
    rewrite: "Write the subquery as a LEFT JOIN with the aggregate grouped by the columns it is correlated by.",
    page: SUBQUERY,
  },
  correlated_subquery: {
    rewrite:
      "Write the subquery as a join: group it by the columns that it is correlated by, put that in FROM, and join it by them.",
    page: SUBQUERY,
  },
  set_operation: {
    rewrite: "Write UNION, INTERSECT or EXCEPT, with or without ALL.",
    page: "distinct-set-operations.md",
  },
  unnamed_column: { rewrite: "Give every column a name with AS.", page: "distinct-set-operations.md" },
  order_sensitive: {
    rewrite: "Give the aggregate an ORDER BY of its own, ended by a unique column, and no subquery as argument.",
    page: "aggregates.md",
  },
  grouped_unnest: { rewrite: "Unnest in a subquery and group above it.", page: "unnest.md" },
  grouping_function: { rewrite: "Call grouping() with grouping columns only.", page: "group-by.md" },
  ungrouped_column: { rewrite: "Group by the column, or take any_value() of it.", page: "group-by.md" },
  export_state: { rewrite: "Store the aggregate's value instead of its state.", page: "aggregates.md" },
  pivot: { rewrite: "Write each column as an aggregate with FILTER and a GROUP BY.", page: "pivot.md" },
  unpivot: { rewrite: "List plain columns, or unnest a list of the values.", page: "pivot.md" },
  ambiguous_alias: { rewrite: "Give the alias a name that is no column of a table.", page: "linear.md" },
  columns_expression: { rewrite: "Write the columns out instead of COLUMNS(…).", page: "linear.md" },
  star_modifier: { rewrite: "Write the columns out instead of *.", page: "linear.md" },
  positional_reference: { rewrite: "Name the column instead of its position.", page: "linear.md" },
  fixed_version: { rewrite: "Leave AT out; a fixed state can be copied to a table once.", page: "linear.md" },
};

export function remedyOf(code: string): Remedy | null {
  return REMEDIES[code] ?? null;
}
