import type { DefineAction } from "../../src/types.js";
import type { Benchmark } from "./benchmark.js";

/** The page that lists the queries of TPC-DS which are recomputed, with what forces them. */
export function report(definitions: readonly DefineAction[], { dear }: Benchmark): string {
  const recomputed = definitions.filter((definition) => definition.strategy !== "incremental");
  const byRule = definitions.length - recomputed.length - dear.length;
  const left = dear.map(
    (view) => `| ${view} | it has rules, which take far longer than a recompute; the choice of cost recomputes it |`,
  );
  const rows = recomputed.map(
    ({ view, reasons }) => `| ${view} | ${reasons.map((reason) => reason.text).join("; ")} |`,
  );
  return `# TPC-H and TPC-DS

The queries are those of DuckDB's own \`tpch_queries()\` and \`tpcds_queries()\`, the data that of \`dbgen\` and \`dsdgen\`. Every
query is a view; where one ends in a LIMIT, all of its columns are added to its ORDER BY, so that it has one answer. After
each round of changes (orders that come and go as in the benchmarks' refresh functions, and updates of rows of every
table) every view must equal its query. What is run where is said in [testing.md](testing.md).

All 22 queries of TPC-H are kept by rules, and ${byRule} of the ${definitions.length} of TPC-DS. The others are recomputed and written as a
difference:

| query | why |
| ----- | --- |
${[...left, ...rows].join("\n")}
`;
}
