import { WEIGHT } from "../catalog/consolidate.js";
import type { DeltaContext } from "../delta/contract.js";
import { derive } from "../delta/derive.js";
import type { Session } from "../engine/session.js";
import { RefreshError } from "../errors.js";
import { type LeafRenderer, renderConsolidated } from "../render/relation.js";
import { quoteIdentifier as q } from "../sql/quote.js";
import type { Layout } from "../view/layout.js";
import type { Candidates } from "../view/limited.js";
import { DIFFERENCE, presentRows } from "./difference.js";

const RANKED = "ivm_ranked";
/** The code of the error for candidates that no longer reach; the view is then read anew. */
export const CANDIDATES_EXHAUSTED = "candidates_exhausted";

export interface CandidatesInput {
  readonly session: Session;
  readonly view: string;
  readonly layout: Layout;
  readonly candidates: Candidates;
  readonly context: DeltaContext;
  readonly leaves: LeafRenderer;
  /** The physical table, as it stands in FROM. */
  readonly table: string;
}

/**
 * ORDER BY … LIMIT over rows: the table holds all rows up to the last of them in the order, more than the LIMIT shows.
 * Changed rows up to that place come and go; those behind it are no concern of the view, as long as enough rows are left.
 * @throws RefreshError `candidates_exhausted` where fewer rows are left than the LIMIT asks for, or far too many.
 */
export async function moveCandidates(input: CandidatesInput): Promise<void> {
  const { session, layout, candidates } = input;
  const ids = layout.columns.map((column) => column.id);
  const changed = renderConsolidated(derive(candidates.input, input.context), ids, input.leaves);
  const physical = layout.columns.map((column) => `${q(column.name)} AS ${q(column.id)}`).join(", ");
  const list = ids.map((id) => `${q(id)}, `).join("");
  const order = candidates.orders.map(({ expression, direction }) => `${expression.sql} ${direction}`).join(", ");
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(RANKED)} AS
    SELECT *, rank() OVER (ORDER BY ${order}) AS "rank"
    FROM (SELECT ${list}"weight" FROM (\n${changed}\n) UNION ALL SELECT ${list}0 FROM (SELECT ${physical} FROM (${presentRows(layout, input.table)})))`);
  const held = await session.row<{ rows: bigint }>(`SELECT count(*) AS rows FROM temp.${q(RANKED)} WHERE "weight" = 0`);
  // A table that is filled has what the LIMIT needs unless there are no more rows, so with fewer it holds all there are.
  const complete = held.rows < BigInt(candidates.needed);
  const reached = complete ? "" : `AND "rank" <= (SELECT max("rank") FROM temp.${q(RANKED)} WHERE "weight" = 0)`;
  const columns = layout.columns.map((column) => `${q(column.id)} AS ${q(column.name)}, `).join("");
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${q(DIFFERENCE)} AS
    SELECT ${columns}"weight" AS ${q(WEIGHT)} FROM temp.${q(RANKED)} WHERE "weight" <> 0 ${reached}`);
  await session.run(`DROP TABLE temp.${q(RANKED)}`);
  const change = await session.row<{ rows: bigint }>(
    `SELECT CAST(coalesce(sum(${q(WEIGHT)}), 0) AS BIGINT) AS rows FROM temp.${q(DIFFERENCE)}`,
  );
  const left = held.rows + change.rows;
  if ((complete || left >= BigInt(candidates.needed)) && left <= BigInt(candidates.most)) return;
  throw new RefreshError(
    CANDIDATES_EXHAUSTED,
    `View ${input.view}: of the rows kept for its LIMIT ${left} are left, where ${candidates.needed} are shown.`,
    { subject: { view: input.view }, hint: "The view is recomputed, which fills them up again." },
  );
}
