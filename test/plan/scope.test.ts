import { describe, expect, test } from "vitest";
import { Scope } from "../../src/plan/scope.js";
import { type Ast, children, columnRef, text, texts } from "../../src/sql/ast.js";

const orders = new Scope([
  {
    alias: "Orders",
    schema: "main",
    catalog: "lake",
    columns: [
      { name: "id", id: "id#1" },
      { name: "Customer", id: "customer#2" },
    ],
  },
]);
const items = new Scope([
  {
    alias: "i",
    columns: [
      { name: "id", id: "id#3" },
      { name: "price", id: "price#4" },
    ],
  },
]);

/** What a dotted name means, as `id` or `id.field`. */
function meaning(scope: Scope, ...names: string[]): string | undefined {
  const show = (ast: Ast): string => {
    if (ast["class"] === "COLUMN_REF") return texts(ast, "column_names").join(".");
    const [value, field] = children(ast, "children");
    const constant = field?.["value"] as Ast | undefined;
    return `${value === undefined ? "?" : show(value)}.${constant === undefined ? "?" : text(constant, "value")}`;
  };
  const found = scope.resolve(columnRef(names));
  return found === undefined ? undefined : show(found);
}

describe("names", () => {
  test.each([
    [["customer"], "customer#2"],
    [["CUSTOMER"], "customer#2"],
    [["orders", "Id"], "id#1"],
    [["main", "orders", "id"], "id#1"],
    [["Lake", "Main", "ORDERS", "ID"], "id#1"],
    [["customer", "address", "city"], "customer#2.address.city"],
    [["orders", "customer", "name"], "customer#2.name"],
    [["main", "orders", "customer", "name"], "customer#2.name"],
    [["nothing"], undefined],
    [["other", "id"], undefined],
    [["orders", "nothing"], undefined],
    [["other", "orders", "id"], undefined],
  ])("%j means %s", (names, expected) => {
    expect(meaning(orders, ...names)).toBe(expected);
  });

  test("a table with an alias can't be written with its schema", () => {
    expect(meaning(items, "i", "price")).toBe("price#4");
    expect(meaning(items, "main", "i", "price")).toBeUndefined();
  });

  test("a table's column is taken before a field of a column of that name", () => {
    const scope = new Scope([
      { alias: "a", columns: [{ name: "x", id: "x#1" }] },
      { alias: "b", columns: [{ name: "a", id: "a#2" }] },
    ]);
    expect(meaning(scope, "a", "x")).toBe("x#1");
    expect(meaning(scope, "a", "y")).toBe("a#2.y");
  });

  test("a reference keeps its alias, also where it ends in a field", () => {
    expect(orders.resolve(columnRef(["id"], "key"))).toMatchObject({ column_names: ["id#1"], alias: "key" });
    expect(orders.resolve(columnRef(["customer", "name"], "who"))).toMatchObject({
      type: "STRUCT_EXTRACT",
      alias: "who",
    });
  });
});

describe("joined scopes", () => {
  const plain = orders.join(items);
  const using = orders.join(items, [{ name: "id", id: "id#1", replaces: ["id#1", "id#3"] }]);
  const names = (scope: Scope) => scope.star().map((column) => `${column.name}=${column.id}`);

  test("have all columns, the left ones first", () => {
    expect(names(plain)).toEqual(["id=id#1", "Customer=customer#2", "id=id#3", "price=price#4"]);
    expect(meaning(plain, "i", "id")).toBe("id#3");
  });

  test("show a merged column once, where the first of its parts stands", () => {
    expect(names(using)).toEqual(["id=id#1", "Customer=customer#2", "price=price#4"]);
    expect(meaning(using, "id")).toBe("id#1");
  });

  test("still have both parts of a merged column under their tables' names", () => {
    expect(meaning(using, "orders", "id")).toBe("id#1");
    expect(meaning(using, "i", "id")).toBe("id#3");
    expect(using.tableStar("I")?.map((column) => column.id)).toEqual(["id#3", "price#4"]);
    expect(using.tableStar("nothing")).toBeUndefined();
  });

  test("can merge into a column of its own, which stands first and is no table's", () => {
    const full = orders.join(items, [{ name: "id", id: "id#9", replaces: ["id#1", "id#3", "id#9"] }]);
    expect(names(full)).toEqual(["id=id#9", "Customer=customer#2", "price=price#4"]);
    expect(meaning(full, "id")).toBe("id#9");
    expect(meaning(full, "i", "id")).toBe("id#3");
  });

  test("know whether a name is a column", () => {
    expect([using.hasColumn("ID"), using.hasColumn("price"), using.hasColumn("i")]).toEqual([true, true, false]);
    expect(Scope.empty.hasColumn("id")).toBe(false);
  });
});
