import { expect, test } from "vitest";
import { loadFunctions } from "../../src/sql/functions.js";
import { memorySession } from "./engine.js";

test("what the engine says of its functions, by their names in lower case", async () => {
  const session = await memorySession();
  await session.run("CREATE MACRO My_Macro(x) AS x + 1");
  await session.run("CREATE MACRO my_rows(n) AS TABLE SELECT * FROM range(n)");
  const functions = await loadFunctions(session);
  const holds = (names: ReadonlySet<string>, ...asked: string[]) => asked.map((name) => names.has(name));
  expect(holds(functions.aggregates, "sum", "count_star", "median", "arg_max", "abs", "list_sum")).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
  // error() is called volatile by the engine, but all it does is to fail.
  expect(holds(functions.volatile, "random", "uuid", "nextval", "error", "now", "abs")).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(holds(functions.perQuery, "now", "today", "random", "abs")).toEqual([true, true, false, false]);
  expect(holds(functions.lambdas, "list_transform", "list_filter", "list_reduce", "json_extract", "->")).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  // What a user's macro means can change; of DuckDB's own, some hide an aggregate.
  expect(holds(functions.userMacros, "my_macro", "my_rows", "weighted_avg", "sum")).toEqual([true, true, false, false]);
  expect(holds(functions.opaqueMacros, "weighted_avg", "wavg", "geomean", "my_macro", "list_avg")).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
