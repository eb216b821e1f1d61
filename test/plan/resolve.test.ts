import { describe, expect, test } from "vitest";
import { expandStars, Resolver, type SelectItem } from "../../src/plan/resolve.js";
import { Scope } from "../../src/plan/scope.js";
import { Unsupported } from "../../src/plan/unsupported.js";
import {
  type Ast,
  child,
  children,
  columnRef,
  integerConstant,
  isAst,
  optionalChild,
  text,
  texts,
} from "../../src/sql/ast.js";
import type { FunctionCatalog } from "../../src/sql/functions.js";

const NONE: ReadonlySet<string> = new Set();
const functions: FunctionCatalog = {
  aggregates: new Set(["sum", "count_star"]),
  volatile: NONE,
  perQuery: NONE,
  lambdas: new Set(["list_transform", "list_reduce"]),
  opaqueMacros: NONE,
  userMacros: NONE,
};

const scope = new Scope([
  {
    alias: "t",
    columns: [
      { name: "a", id: "a#1" },
      { name: "b", id: "b#2" },
      { name: "s", id: "s#3" },
    ],
  },
  { alias: "u", columns: [{ name: "c", id: "c#4" }] },
]);

const ref = (...names: string[]): Ast => columnRef(names);
const as = (ast: Ast, alias: string): Ast => ({ ...ast, alias });

function call(name: string, ...parts: readonly Ast[]): Ast {
  return {
    class: "FUNCTION",
    type: "FUNCTION",
    alias: "",
    schema: "",
    catalog: "",
    function_name: name,
    children: parts,
  };
}

function lambda(parameters: readonly string[], expr: Ast): Ast {
  const [only = ""] = parameters;
  const lhs = parameters.length === 1 ? ref(only) : call("row", ...parameters.map((name) => ref(name)));
  return { class: "LAMBDA", type: "LAMBDA", alias: "", lhs, expr };
}

function star(relation = "", more: Readonly<Record<string, unknown>> = {}): Ast {
  return {
    class: "STAR",
    type: "STAR",
    alias: "",
    relation_name: relation,
    exclude_list: [],
    replace_list: [],
    qualified_exclude_list: [],
    rename_list: [],
    columns: false,
    expr: null,
    ...more,
  } as Ast;
}

/** A tree as text: `f(a#1, s#3.x)`, lambdas as `p -> …`. */
function show(ast: Ast): string {
  const parts = children(ast, "children").map(show);
  switch (ast["class"]) {
    case "COLUMN_REF":
      return texts(ast, "column_names").join(".");
    case "CONSTANT":
      return String(isAst(ast["value"]) ? ast["value"]["value"] : ast["value"]);
    case "LAMBDA":
      return `${show(child(ast, "lhs"))} -> ${show(child(ast, "expr"))}`;
    case "OPERATOR":
      return parts.join(".");
    default: {
      const schema = text(ast, "schema");
      const filter = optionalChild(ast, "filter");
      const prefix = schema === "" || schema === "main" ? "" : `${schema}.`;
      return `${prefix}${text(ast, "function_name")}(${parts.join(", ")})${filter === undefined ? "" : ` where ${show(filter)}`}`;
    }
  }
}

function reason(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Unsupported) return error.reason.code;
    throw error;
  }
  return "none";
}

describe("stars", () => {
  const names = (...list: Ast[]) => expandStars(list, scope).map((item) => `${item.name}=${show(item.ast)}`);

  test("stand for all columns or for those of one table", () => {
    expect(names(star(), ref("c"))).toEqual(["a=a#1", "b=b#2", "s=s#3", "c=c#4", "c=c"]);
    expect(names(star("U"), star("t"))).toEqual(["c=c#4", "a=a#1", "b=b#2", "s=s#3"]);
  });

  test("leave out what EXCLUDE names, without case", () => {
    expect(names(star("", { exclude_list: ["A", "s"] }))).toEqual(["b=b#2", "c=c#4"]);
    expect(names(star("t", { exclude_list: ["b"] }))).toEqual(["a=a#1", "s=s#3"]);
  });

  test("take what REPLACE gives, in the column's place and under its name", () => {
    const replace_list = [{ key: "B", value: call("abs", ref("a")) }];
    expect(names(star("t", { replace_list }))).toEqual(["a=a#1", "b=abs(a)", "s=s#3"]);
    const items = expandStars([star("t", { replace_list })], scope);
    // What a star gives is resolved; a replacement has names still to be found.
    expect(items.map((item) => item.resolved)).toEqual([true, false, true]);
    expect(new Resolver(functions, scope, items).item(items[1] as SelectItem, 1)).toMatchObject({
      children: [ref("a#1")],
    });
  });

  test("of other forms have no rule", () => {
    expect(reason(() => names(star("nothing")))).toBe("unknown_table");
    expect(reason(() => names(star("", { columns: true })))).toBe("columns_expression");
    expect(reason(() => names(star("", { expr: ref("a") })))).toBe("columns_expression");
    expect(reason(() => names(star("", { rename_list: [{ key: "a", value: "z" }] })))).toBe("star_modifier");
    expect(reason(() => names(star("", { qualified_exclude_list: [{ column: "a" }] })))).toBe("star_modifier");
  });

  test("the names of items are aliases, else the last part of a column's name, else left to DuckDB", () => {
    const list = [as(ref("a"), "x"), ref("t", "b"), ref("s", "field"), call("abs", ref("a"))];
    expect(expandStars(list, scope).map((item) => item.name)).toEqual(["x", "b", "field", ""]);
  });
});

describe("columns and select aliases", () => {
  const items = expandStars(
    [
      as(call("f", ref("b")), "a"),
      as(call("g", ref("a")), "x"),
      as(call("h", ref("x")), "y"),
      as(call("k", ref("z")), "early"),
      as(ref("b"), "z"),
    ],
    scope,
  );
  const resolver = new Resolver(functions, scope, items);

  test("a column is taken before an alias of the same name", () => {
    expect(show(resolver.resolve(ref("a")))).toBe("a#1");
    expect(show(resolver.resolve(ref("A")))).toBe("a#1");
  });

  test("an alias stands for its expression, whose own aliases are followed", () => {
    expect(show(resolver.resolve(call("p", ref("X"), ref("y"))))).toBe("p(g(a#1), h(g(a#1)))");
    expect(resolver.resolve(as(ref("x"), "field"))).toMatchObject({ alias: "field", function_name: "g" });
  });

  test("an item sees the aliases before it, not its own and not those behind it", () => {
    expect(show(resolver.item(items[2] as SelectItem, 2))).toBe("h(g(a#1))");
    expect(reason(() => resolver.item(items[3] as SelectItem, 3))).toBe("unknown_column");
    const own = expandStars([as(call("f", ref("w")), "w")], scope);
    expect(reason(() => new Resolver(functions, scope, own).item(own[0] as SelectItem, 0))).toBe("unknown_column");
  });

  test("an alias with a qualifier or a field is not looked for", () => {
    expect(reason(() => resolver.resolve(ref("x", "field")))).toBe("unknown_column");
    expect(reason(() => resolver.resolve(ref("nothing")))).toBe("unknown_column");
  });

  test("the outer query is asked only where nothing here has the name", () => {
    const outer = new Scope([
      {
        alias: "o",
        columns: [
          { name: "a", id: "a#8" },
          { name: "q", id: "q#9" },
        ],
      },
    ]);
    const correlated = new Resolver(functions, scope, [], outer);
    expect(show(correlated.resolve(call("f", ref("a"), ref("q"), ref("o", "a"))))).toBe("f(a#1, q#9, a#8)");
  });

  test("HAVING and QUALIFY refuse a name that is a column and an alias for something else", () => {
    expect(reason(() => resolver.afterGrouping(call("f", ref("a"))))).toBe("ambiguous_alias");
    expect(show(resolver.afterGrouping(call("f", ref("t", "a"), ref("x"))))).toBe("f(a#1, g(a#1))");
    const same = expandStars([as(ref("b"), "b")], scope);
    expect(show(new Resolver(functions, scope, same).afterGrouping(ref("b")))).toBe("b#2");
  });

  test("HAVING and QUALIFY take a column before an alias for another column", () => {
    const renamed = expandStars([as(ref("b"), "a")], scope);
    expect(show(new Resolver(functions, scope, renamed).afterGrouping(ref("a")))).toBe("a#1");
  });
});

describe("inside of expressions", () => {
  const resolver = new Resolver(functions, scope);

  test("fields of structs are taken out of the column", () => {
    expect(show(resolver.resolve(ref("s", "x", "y")))).toBe("s#3.x.y");
    expect(show(resolver.resolve(ref("t", "s", "x")))).toBe("s#3.x");
  });

  test("the filter and the order of an aggregate are resolved too", () => {
    const order = { type: "ORDER_MODIFIER", orders: [{ type: "ASCENDING", expression: ref("b") }] };
    const resolved = resolver.resolve({ ...call("sum", ref("a")), filter: call("f", ref("c")), order_bys: order });
    expect(show(resolved)).toBe("sum(a#1) where f(c#4)");
    expect(JSON.stringify(resolved["order_bys"], (_, value) => (typeof value === "bigint" ? 0 : value))).toContain(
      "b#2",
    );
  });

  test("parameters of a lambda hide columns, in its body only", () => {
    const tree = call("f", call("list_transform", ref("a"), lambda(["A"], call("g", ref("a"), ref("b")))), ref("a"));
    expect(show(resolver.resolve(tree))).toBe("f(list_transform(a#1, A -> g(a, b#2)), a#1)");
  });

  test("all parameters hide, and those of an outer lambda too", () => {
    const inner = call("list_transform", ref("a"), lambda(["c"], call("g", ref("a"), ref("b"), ref("c"), ref("s"))));
    const tree = call("list_reduce", ref("s"), lambda(["a", "b"], inner));
    expect(show(resolver.resolve(tree))).toBe("list_reduce(s#3, row(a, b) -> list_transform(a, c -> g(a, b, c, s#3)))");
  });

  test("a field of a parameter stays the parameter's", () => {
    const tree = call("list_transform", ref("b"), lambda(["s"], ref("s", "x")));
    expect(show(resolver.resolve(tree))).toBe("list_transform(b#2, s -> s.x)");
  });

  test("an arrow in a function that takes no lambda is JSON's and names columns", () => {
    const tree = call("json", lambda(["a"], ref("b")));
    expect(show(resolver.resolve(tree))).toBe("json(a#1 -> b#2)");
  });

  test("a method call has the column as its first argument", () => {
    const method = (schema: string, ...parts: Ast[]): Ast => ({ ...call("upper", ...parts), schema });
    expect(show(resolver.resolve(method("a", ref("b"))))).toBe("upper(a#1, b#2)");
    expect(show(resolver.resolve(method("main", ref("b"))))).toBe("upper(b#2)");
    expect(reason(() => resolver.resolve(method("nothing", ref("b"))))).toBe("unknown_column");
  });

  test("a subquery or a star has no rule here", () => {
    expect(reason(() => resolver.resolve(call("f", { class: "SUBQUERY", type: "SUBQUERY" })))).toBe("subquery");
    expect(reason(() => resolver.resolve(call("f", star())))).toBe("columns_expression");
  });

  test("constants and the tree that was given are left alone", () => {
    const tree = call("f", integerConstant(2n ** 60n), ref("a"));
    expect(show(resolver.resolve(tree))).toBe(`f(${2n ** 60n}, a#1)`);
    expect(show(tree)).toBe(`f(${2n ** 60n}, a)`);
  });
});
