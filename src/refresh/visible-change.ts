import { WEIGHT } from "../catalog/consolidate.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { Layout } from "../view/layout.js";
import type { BuiltView } from "../view/state.js";
import { visibleDelta, visibleSelect } from "../view/visible.js";
import { DIFFERENCE } from "./difference.js";
import { physicalTable } from "./physical.js";
import type { WriteInput } from "./write-input.js";

const KEPT = "ivm_kept";
const q = quoteIdentifier;

/** Rows of a view that its readers see come and go. */
export interface VisibleCounts {
  readonly inserted: bigint;
  readonly deleted: bigint;
}

/** Counts the change of the visible rows, and writes it to the log where that stands where the view does. */
export async function visibleChange(input: WriteInput): Promise<VisibleCounts> {
  if (input.log?.mode !== "append") return countVisible(input);
  const rows = visibleDelta(input.definition.layout, `SELECT * FROM temp.${q(DIFFERENCE)}`, WEIGHT, true);
  return input.log.writeChange(rows, WEIGHT);
}

/** Brings the log to the visible rows as they are now, inside the transaction that made them so. */
export async function logState({ log, definition }: WriteInput, table: string): Promise<void> {
  if (log === null) return;
  const rows = visibleSelect(definition.layout, table);
  await (log.mode === "begin" ? log.writeState(rows) : log.writeCatchUp(rows));
}

/** Visible rows that come and go, consolidated; physical rows can change without any visible change. */
async function countVisible(input: WriteInput): Promise<VisibleCounts> {
  const { layout } = input.definition;
  const weight = q(WEIGHT);
  const columns = layout.output.map((column) => q(column.name));
  const rows = visibleDelta(layout, `SELECT * FROM temp.${q(DIFFERENCE)}`, WEIGHT, true);
  const row = await input.session.row<{ inserted: bigint | null; deleted: bigint | null }>(`
    SELECT CAST(sum(weight) FILTER (WHERE weight > 0) AS BIGINT) AS inserted, CAST(-sum(weight) FILTER (WHERE weight < 0) AS BIGINT) AS deleted
    FROM (SELECT ${columns.join(", ")}, sum(${weight}) AS weight FROM (${rows}) GROUP BY ${columns.map((_, index) => index + 1).join(", ")})`);
  return { inserted: row.inserted ?? 0n, deleted: row.deleted ?? 0n };
}

/** Keeps the visible rows of the definition that is being replaced, to tell afterwards what changed. */
export async function keepVisible(input: WriteInput, replaced: BuiltView | null): Promise<void> {
  if (replaced === null) return;
  const rows = visibleSelect(replaced.layout, physicalTable(input.state, replaced.table));
  await input.session.run(`CREATE OR REPLACE TEMP TABLE ${q(KEPT)} AS ${rows}`);
}

/** What the readers of the view see come and go. Where the columns are others, every row does. */
export async function countAgainstKept(
  input: WriteInput,
  replaced: BuiltView | null,
  table: string,
): Promise<VisibleCounts> {
  const after = visibleSelect(input.definition.layout, table);
  const count = async (rows: string): Promise<bigint> =>
    (await input.session.row<{ n: bigint }>(`SELECT count(*) AS n FROM (${rows})`)).n;
  if (replaced === null) return { inserted: await count(after), deleted: 0n };
  const before = `SELECT * FROM temp.${q(KEPT)}`;
  const columns = (layout: Layout) => JSON.stringify(layout.output.map(({ name, type }) => ({ name, type })));
  if (columns(replaced.layout) !== columns(input.definition.layout)) {
    return { inserted: await count(after), deleted: await count(before) };
  }
  return {
    inserted: await count(`(${after}) EXCEPT ALL (${before})`),
    deleted: await count(`(${before}) EXCEPT ALL (${after})`),
  };
}
