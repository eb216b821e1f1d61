import { describe, expect, it } from "vitest";
import { load, problemsOf } from "./files.js";

const CONFIG = "lake: { catalog: x.db }";

describe("view modules", () => {
  it("give definitions beside those of .sql files, in TypeScript and in JavaScript", async () => {
    const project = await load(CONFIG, {
      "views/a.sql": "SELECT 1 AS one",
      "views/views.ts": `
        import { source, sum, view } from "ducklake-ivm/builder";
        import { TABLE } from "./names.ts";
        interface Order { customer: number; amount: number }
        const orders = source<Order>(TABLE);
        export default [
          view("totals", orders.aggregate({ by: "customer", total: sum("amount") }).primaryKey("customer")),
          view("copy", orders.select("amount"), { refresh: "full" }),
        ];`,
      "views/names.ts": 'export const TABLE: string = "orders";',
      "views/more/views.js": 'export default { name: "plain", sql: "SELECT 2 AS two" };',
    });
    expect(project.views.map(({ name }) => name)).toEqual(["a", "copy", "plain", "totals"]);
    expect(project.views.find(({ name }) => name === "totals")).toMatchObject({
      sql: 'SELECT "orders"."customer" AS "customer",\n  sum("orders"."amount") AS "total"\nFROM "orders"\nGROUP BY 1',
      primaryKey: ["customer"],
      file: expect.stringMatching(/views\.ts$/),
    });
    expect(project.views.find(({ name }) => name === "copy")).toMatchObject({ refresh: "full" });
  });

  it("tell what is wrong with them, all at once", async () => {
    const problems = await problemsOf(
      load(CONFIG, {
        "views/a.sql": "SELECT 1",
        "views/1/views.ts": 'throw new Error("not today");',
        "views/2/views.ts": "export const views = [];",
        "views/3/views.js": 'export default [{ name: "A", sql: "SELECT 2" }, { name: "x.y", sql: "SELECT 3" }];',
        "views/4/views.mjs":
          'import { source, view } from "ducklake-ivm/builder";\nexport default view("v", source("t").select("a").select("b"));',
      }),
    );
    expect(problems.map((problem) => problem.split(" | ")[0])).toEqual([
      "views/1/views.ts view_module: can't be loaded: not today",
      "views/2/views.ts view_module: exports no definitions of views by default",
      expect.stringMatching(/^views\/3\/views\.js view_name: "x\.y" can't be a view's name/),
      'views/4/views.mjs view_module: can\'t be loaded: View v: "b" is no column of the rows before it.',
      expect.stringMatching(/view_duplicate/),
    ]);
  });
});
