/** What the builder's types know. `types.test.ts` compiles this file: each line after @ts-expect-error must be an error. */
import {
  argMax,
  count,
  descending,
  type Expression,
  lag,
  mean,
  min,
  type RowType,
  rowNumber,
  runningSum,
  source,
  sql,
  sum,
  view,
} from "../../src/builder/index.js";

interface Order {
  id: number;
  customer: number;
  amount: number | null;
  day: Date;
}
interface Customer {
  id: number;
  name: string;
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Is an error where the two types differ. */
function same<A, B>(_: Same<A, B>): void {}

const orders = source<Order>("orders").as("o");
const customers = source<Customer>("customers").as("c");
const joined = orders.join(customers, { on: { "o.customer": "c.id" } });

// Columns and their types.
const selected = joined.select("o.id", "name", { spent: "amount", year: () => sql<bigint>`1` }, "c.*");
same<RowType<typeof selected>, { id: number; name: string; spent: number | null; year: bigint }>(true);
same<RowType<typeof orders>, Order>(true);
// @ts-expect-error no such column
orders.select("o.amuont");
// @ts-expect-error no such alias
orders.select("c.name");
// @ts-expect-error no such alias
orders.select("x.*");
// @ts-expect-error a column of a source that is not joined
orders.select({ name: (column) => sql`${column("c.name")}` });
joined.select({
  name: (column) => {
    const name: Expression<string> = column("c.name");
    // @ts-expect-error another type
    const wrong: Expression<number> = column("c.name");
    return wrong === undefined ? name : column("o.id");
  },
});

// Joins.
const left = orders.join(customers, { kind: "left", on: { customer: "c.id" } }).select("o.id", "c.name");
same<RowType<typeof left>, { id: number; name: string | null }>(true);
const full = orders.join(customers, { kind: "full", using: ["id"] }).select({ o: "o.id", c: "c.id" });
same<RowType<typeof full>, { o: number | null; c: number | null }>(true);
const semi = orders.join(customers, { kind: "semi", on: { customer: "id" } });
same<RowType<typeof semi>, Order>(true);
// @ts-expect-error the other side of a semi join is not in scope
semi.select("c.name");
// @ts-expect-error both sides must have the column
orders.join(customers, { using: ["name"] });
// @ts-expect-error no such column on the left
orders.join(customers, { on: { "o.customr": "c.id" } });
// @ts-expect-error no such column on the right
orders.join(customers, { on: { "o.customer": "c.di" } });
// @ts-expect-error a number and a text are never equal
orders.join(customers, { on: { "o.customer": "c.name" } });
// @ts-expect-error no such kind
orders.join(customers, { kind: "outer", using: ["id"] });
// @ts-expect-error a cross join has no condition
orders.join(customers, { kind: "cross", using: ["id"] });
orders.join(customers, { kind: "cross" });

// Conditions.
joined
  .where("o.amount", ">", 3)
  .where("c.name", "in", ["Ada"])
  .where("day", ">=", "2024-01-01")
  .where("amount", "is null");
// @ts-expect-error a name is no number
joined.where("c.name", "=", 3);
// @ts-expect-error no such operator
joined.where("c.name", "~~~", "A");
// @ts-expect-error no such column
joined.where("c.nam", "=", "A");
// @ts-expect-error a list of names
joined.where("c.name", "in", [1]);

// Aggregates.
const totals = joined.aggregate({
  by: ["c.name", { month: (column) => sql<number>`month(${column("o.day")})` }],
  orders: count(),
  total: sum("o.amount"),
  mean: mean("amount"),
  first: min("day"),
  best: argMax("c.name", "o.amount"),
});
same<
  RowType<typeof totals>,
  {
    name: string;
    month: number;
    orders: bigint;
    total: number | bigint | null;
    mean: number | null;
    first: Date | null;
    best: string | null;
  }
>(true);
// @ts-expect-error no such column
joined.aggregate({ by: "c.name", total: sum("o.amont") });
// @ts-expect-error no such column to group by
joined.aggregate({ by: "c.nam", total: sum("o.amount") });
// @ts-expect-error a column that is gone
totals.select("amount");

// Accumulations.
const running = orders.accumulate({
  by: "customer",
  along: ["day", descending("id")],
  total: runningSum("amount"),
  before: lag("day"),
  n: rowNumber(),
});
same<
  RowType<typeof running>,
  Order & { total: number | bigint | null; before: Date | null; n: bigint } extends infer R
    ? { [K in keyof R]: R[K] }
    : never
>(true);
// @ts-expect-error no such column
orders.accumulate({ along: "day", total: runningSum("amuont") });
// @ts-expect-error nothing to go along
orders.accumulate({ by: "customer", total: runningSum("amount") });
// @ts-expect-error no such column to go along
orders.accumulate({ along: "dya", total: runningSum("amount") });

// Unions and keys.
orders.select("id").unionAll(customers.select("id"));
// @ts-expect-error other columns
orders.select("id").union(customers.select("name"));
totals.primaryKey("name", "month");
// @ts-expect-error no such column
totals.primaryKey("nam");
view("totals", totals.primaryKey("name", "month"), { refresh: "incremental" });
// @ts-expect-error no such mode
view("totals", totals, { refresh: "sometimes" });

// Without a row type every name is taken.
const untyped = source("anything").as("a").select("a.whatever", { x: "something" });
same<RowType<typeof untyped>, { whatever: unknown; x: unknown }>(true);
