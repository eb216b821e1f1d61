import { count, runningSum, source, sum, view } from "ducklake-ivm/builder";

interface Line {
  id: number;
  customer: number;
  product: number;
  day: Date;
  amount: number;
}
interface Product {
  id: number;
  title: string;
  price: number;
}

// A materialized view of this project is a source like any table.
const lines = source<Line>("priced_lines").as("l");
const products = source<Product>("products").as("p");

const sold = lines.aggregate({ by: "product", lines: count(), revenue: sum("amount") }).as("sold");

const bestProducts = products
  .join(sold, { on: { "p.id": "sold.product" } })
  .where("sold.lines", ">=", 100)
  .select("p.id", "p.title", "sold.lines", "sold.revenue")
  .primaryKey("id");

const customerLedger = lines
  .accumulate({ by: "customer", along: ["day", "id"], balance: runningSum("amount") })
  .primaryKey("id");

const neverBought = products.join(lines, { kind: "anti", on: { "p.id": "l.product" } }).select("p.id", "p.title");

export default [
  view("best_products", bestProducts),
  view("customer_ledger", customerLedger),
  view("never_bought", neverBought),
];
