/**
 * How a view whose top is GROUP BY keeps each of DuckDB's aggregates. The one table that both the code which lays out
 * and settles aggregates and the documentation are made from.
 */

/**
 * `folded`: the change is added to a stored state. `extended`: rows that come are merged into the stored value, and the
 * group is read anew when a row goes that the value may rest on. `reread`: the affected groups are read anew.
 * `window`: only a window function, never an aggregate of groups.
 */
export type AggregateClass = "folded" | "extended" | "reread" | "window";

/** Aggregates that one piece of code keeps. */
export type AggregateFamily =
  | "count"
  | "sum"
  | "average"
  | "truth"
  | "parity"
  | "moment"
  | "pairs"
  | "bits"
  | "extreme"
  | "pick"
  | "list"
  | "other"
  | "window";

interface Family {
  readonly class: AggregateClass;
  readonly note: string;
}

const FAMILIES: Readonly<Record<AggregateFamily, Family>> = {
  count: { class: "folded", note: "a count" },
  sum: {
    class: "folded",
    note: "integers up to 64 bits, decimals, booleans; floating-point numbers with `float_sums: fold`",
  },
  average: { class: "folded", note: "as a sum and a count; types as for `sum`" },
  truth: { class: "folded", note: "the number of values and of true ones" },
  parity: { class: "folded", note: "integers up to 64 bits" },
  moment: {
    class: "folded",
    note: "exact sums of values, squares and products; integers up to 64 bits, decimals up to 18 digits",
  },
  pairs: { class: "folded", note: "a count of the rows in which neither value is NULL" },
  bits: { class: "extended", note: "integers up to 64 bits" },
  extreme: { class: "extended", note: "without a number of values" },
  pick: {
    class: "extended",
    note: "as the least or greatest of its order; in orders of unlike direction, or with a number of values, read anew",
  },
  list: { class: "reread", note: "in the order that it is given, then in that of its values" },
  other: { class: "reread", note: "the values are needed" },
  window: { class: "window", note: "by affected partitions" },
};

const NAMES: Readonly<Record<AggregateFamily, readonly string[]>> = {
  count: ["count", "count_star"],
  sum: ["sum"],
  average: ["avg", "mean"],
  truth: ["bool_and", "bool_or", "count_if", "countif"],
  parity: ["bit_xor"],
  moment: [
    "var_samp",
    "var_pop",
    "variance",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "sem",
    "covar_pop",
    "covar_samp",
    "corr",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
  ],
  pairs: ["regr_count"],
  bits: ["bit_and", "bit_or"],
  extreme: ["min", "max"],
  pick: [
    "any_value",
    "arbitrary",
    "first",
    "last",
    "arg_min",
    "argmin",
    "min_by",
    "arg_min_null",
    "arg_min_nulls_last",
    "arg_max",
    "argmax",
    "max_by",
    "arg_max_null",
    "arg_max_nulls_last",
  ],
  list: [
    "list",
    "array_agg",
    "string_agg",
    "group_concat",
    "listagg",
    "mode",
    "approx_quantile",
    "approx_top_k",
    "reservoir_quantile",
  ],
  other: [
    "approx_count_distinct",
    "bitstring_agg",
    "entropy",
    "favg",
    "fsum",
    "histogram",
    "histogram_exact",
    "kahan_sum",
    "kurtosis",
    "kurtosis_pop",
    "mad",
    "median",
    "product",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "skewness",
    "sum_no_overflow",
    "sumkahan",
  ],
  window: [
    "cume_dist",
    "dense_rank",
    "fill",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "rank_dense",
    "row_number",
  ],
};

/** Where a name has more to say than its family. */
const NOTES: Readonly<Record<string, string>> = {
  sum_no_overflow: "DuckDB's own, not to be called",
  approx_count_distinct: "the same for the same set of values",
};

const FAMILY_OF: ReadonlyMap<string, AggregateFamily> = new Map(
  (Object.entries(NAMES) as [AggregateFamily, readonly string[]][]).flatMap(([family, names]) =>
    names.map((name) => [name, family] as const),
  ),
);

/** The family of an aggregate by its lower-case name; one that DuckDB has and this table has not is read anew. */
export function familyOf(name: string): AggregateFamily {
  return FAMILY_OF.get(name) ?? "other";
}

/** True where the answer depends on the order of the rows, which a bag has not. */
export function dependsOnOrder(name: string): boolean {
  const family = familyOf(name);
  return family === "pick" || family === "list";
}

export interface AggregateEntry {
  readonly name: string;
  readonly class: AggregateClass;
  /** What the class rests on; may be empty. */
  readonly note: string;
}

/** Every aggregate of DuckDB, by name. */
export function aggregateClasses(): readonly AggregateEntry[] {
  return [...FAMILY_OF]
    .map(([name, family]) => ({ name, class: FAMILIES[family].class, note: NOTES[name] ?? FAMILIES[family].note }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
