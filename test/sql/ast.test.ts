import { describe, expect, test } from "vitest";
import {
  type Ast,
  baseTable,
  child,
  children,
  columnRef,
  conjunctsOf,
  fingerprint,
  integerConstant,
  isExpression,
  mapAst,
  mapParts,
  optionalChild,
  sameExpression,
  text,
  texts,
  walkAst,
} from "../../src/sql/ast.js";

const call = (name: string, ...parts: readonly Ast[]): Ast => ({
  class: "FUNCTION",
  type: "FUNCTION",
  alias: "",
  query_location: 7,
  function_name: name,
  children: parts,
});

const tree = call("f", columnRef(["a"]), call("g", columnRef(["b"]), integerConstant(1n)));

describe("reading parts of a node", () => {
  test("gives what is there and nothing where there is nothing", () => {
    expect(children(tree, "children")).toHaveLength(2);
    expect(children(tree, "missing")).toEqual([]);
    expect(optionalChild(tree, "missing")).toBeUndefined();
    expect(text(tree, "function_name")).toBe("f");
    expect(text(tree, "query_location")).toBe("");
    expect(texts(columnRef(["t", "a"]), "column_names")).toEqual(["t", "a"]);
    expect(isExpression(tree)).toBe(true);
    expect(isExpression(baseTable({ catalog: "", schema: "", table: "t" }, ""))).toBe(false);
  });

  test("a part that must be there and is not names the node and the part", () => {
    expect(() => child(tree, "filter")).toThrow(/FUNCTION has no filter/);
    expect(() => child({ type: "X", filter: [] }, "filter")).toThrow(/X has no filter/);
  });
});

describe("mapAst", () => {
  test("takes a changed node as it is, goes on into kept ones, and leaves the tree itself alone", () => {
    const before = JSON.stringify(tree, (_, value) => (typeof value === "bigint" ? String(value) : value));
    const seen: string[] = [];
    const mapped = mapAst(tree, (node) => {
      seen.push(text(node, "function_name") || texts(node, "column_names").join("."));
      return text(node, "function_name") === "g" ? columnRef(["replaced"]) : undefined;
    }) as Ast;
    expect(children(mapped, "children").map((part) => texts(part, "column_names"))).toEqual([["a"], ["replaced"]]);
    // The replacement and what was replaced are not visited.
    expect(seen).toEqual(["f", "a", "g"]);
    expect(JSON.stringify(tree, (_, value) => (typeof value === "bigint" ? String(value) : value))).toBe(before);
  });

  test("mapParts leaves out the node itself", () => {
    const change = (node: Ast): Ast | undefined => (node["class"] === "FUNCTION" ? columnRef(["x"]) : undefined);
    expect(mapAst(tree, change)).toEqual(columnRef(["x"]));
    expect(text(mapParts(tree, change), "function_name")).toBe("f");
    expect(children(mapParts(tree, change), "children")[1]).toEqual(columnRef(["x"]));
  });
});

test("walkAst leaves out the parts of a node for which it is told so", () => {
  const names = (enter: (node: Ast) => boolean): string[] => {
    const found: string[] = [];
    walkAst(tree, (node) => {
      if (node["class"] === "COLUMN_REF") found.push(...texts(node, "column_names"));
      return enter(node);
    });
    return found;
  };
  expect(names(() => true)).toEqual(["a", "b"]);
  expect(names((node) => text(node, "function_name") !== "g")).toEqual(["a"]);
});

describe("fingerprint", () => {
  test.each<[string, Ast, Ast]>([
    ["aliases", columnRef(["a"], "x"), columnRef(["a"], "y")],
    ["places in the text", { ...tree, query_location: 1 }, { ...tree, query_location: 18446744073709551615n }],
    ["the case of column names", columnRef(["T", "A"]), columnRef(["t", "a"])],
    ["the case of function names", call("SUM", columnRef(["a"])), call("sum", columnRef(["a"]))],
  ])("is the same whatever %s", (_, left, right) => {
    expect(sameExpression(left, right)).toBe(true);
  });

  const typed = (id: string, value: string | number | bigint): Ast => ({
    class: "CONSTANT",
    type: "VALUE_CONSTANT",
    value: { type: { id, type_info: null }, is_null: false, value },
  });

  test.each<[string, Ast, Ast]>([
    ["another column", columnRef(["a"]), columnRef(["b"])],
    ["another qualifier", columnRef(["t", "a"]), columnRef(["u", "a"])],
    ["one name with a dot and two names", columnRef(["t.a"]), columnRef(["t", "a"])],
    ["another function", call("min", columnRef(["a"])), call("max", columnRef(["a"]))],
    [
      "another order of arguments",
      call("f", columnRef(["a"]), columnRef(["b"])),
      call("f", columnRef(["b"]), columnRef(["a"])),
    ],
    ["text in another case", typed("VARCHAR", "x"), typed("VARCHAR", "X")],
    ["a big integer and its digits as text", typed("HUGEINT", 2n ** 64n), typed("HUGEINT", String(2n ** 64n))],
    ["another type of the same value", typed("INTEGER", 1), typed("BIGINT", 1)],
    [
      "another name of a struct's field",
      call("struct_pack", columnRef(["a"], "x"), columnRef(["b"], "y")),
      call("struct_pack", columnRef(["a"], "y"), columnRef(["b"], "x")),
    ],
  ])("tells apart %s", (_, left, right) => {
    expect(fingerprint(left)).not.toBe(fingerprint(right));
  });
});

describe("the parts of a condition that must all hold", () => {
  const [a, b, c] = [columnRef(["a"]), columnRef(["b"]), columnRef(["c"])];
  const junction = (type: "AND" | "OR", ...parts: readonly Ast[]): Ast => ({
    class: "CONJUNCTION",
    type: `CONJUNCTION_${type}`,
    alias: "",
    query_location: 0,
    children: parts,
  });
  const names = (ast: Ast): string =>
    ast["class"] === "COLUMN_REF"
      ? texts(ast, "column_names").join(".")
      : `(${children(ast, "children")
          .map(names)
          .join(ast["type"] === "CONJUNCTION_OR" ? " or " : " and ")})`;

  test.each([
    ["one condition", a, ["a"]],
    ["nested AND", junction("AND", a, junction("AND", b, c)), ["a", "b", "c"]],
    ["OR without anything in common", junction("OR", a, junction("AND", b, c)), ["(a or (b and c))"]],
    [
      "what all branches of OR ask for",
      junction("OR", junction("AND", a, b), junction("AND", c, a)),
      ["a", "(b or c)"],
    ],
    ["a branch that asks for nothing more", junction("OR", junction("AND", a, b), a), ["a"]],
    [
      "OR below AND",
      junction("AND", c, junction("OR", junction("AND", a, b), junction("AND", a, c))),
      ["c", "a", "(b or c)"],
    ],
  ])("%s", (_, ast, expected) => {
    expect(conjunctsOf(ast).map(names)).toEqual(expected);
  });
});
