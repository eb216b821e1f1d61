import { WEIGHT } from "../catalog/consolidate.js";
import { RefreshError } from "../errors.js";
import { quoteIdentifier } from "../sql/quote.js";
import { visibleDelta, visibleSelect } from "../view/visible.js";
import type { WriteInput } from "./write-input.js";

const q = quoteIdentifier;

/** @throws RefreshError `primary_key_violated` with a sample, before anything is committed. */
export async function checkPrimaryKey(input: WriteInput, table: string, written: string | null): Promise<void> {
  const { session, definition } = input;
  if (definition.primaryKey.length === 0) return;
  const { layout } = definition;
  const keys = definition.primaryKey.map(q);
  const all = `(${visibleSelect(layout, table)})`;
  const touched =
    written === null
      ? ""
      : `SEMI JOIN (${visibleDelta(layout, written, WEIGHT, true)}) AS written ON ${keys.map((key) => `rows.${key} IS NOT DISTINCT FROM written.${key}`).join(" AND ")}`;
  const [violation] = await session.rows<{ sample: string; copies: bigint }>(`
    SELECT CAST(struct_pack(${definition.primaryKey.map((key) => `${q(key)} := any_value(rows.${q(key)})`).join(", ")}) AS VARCHAR) AS sample, count(*) AS copies
    FROM ${all} AS rows ${touched}
    GROUP BY ${keys.map((key) => `rows.${key}`).join(", ")}
    HAVING count(*) > 1 OR ${keys.map((key) => `any_value(rows.${key}) IS NULL`).join(" OR ")} LIMIT 1`);
  if (violation === undefined) return;
  const why = violation.copies > 1n ? `${violation.copies} rows have the key` : "a row has a NULL in the key";
  throw new RefreshError(
    "primary_key_violated",
    `View ${definition.name}: ${why} ${violation.sample}. Nothing was written.`,
    {
      subject: { view: definition.name },
      hint: `Correct the declared primary_key (${definition.primaryKey.join(", ")}) or the query.`,
    },
  );
}
