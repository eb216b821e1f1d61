import type { Benchmark } from "./benchmark.js";

export const TPCH: Benchmark = {
  extension: "tpch",
  queries: "tpch_queries",
  generator: "dbgen",
  tables: [
    { name: "customer", key: ["c_custkey"] },
    { name: "lineitem", key: ["l_orderkey", "l_linenumber"] },
    { name: "nation", key: ["n_nationkey"] },
    { name: "orders", key: ["o_orderkey"] },
    { name: "part", key: ["p_partkey"] },
    { name: "partsupp", key: ["ps_partkey", "ps_suppkey"] },
    { name: "region", key: ["r_regionkey"] },
    { name: "supplier", key: ["s_suppkey"] },
  ],
  dear: [],
  streams: [
    {
      tables: [
        { name: "orders", number: "o_orderkey" },
        { name: "lineitem", number: "l_orderkey" },
      ],
    },
  ],
};
