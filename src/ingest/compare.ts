/** The input against the table: which rows of it are new or other, and which rows of the table go. */
import type { Session } from "../engine/session.js";
import type { IngestError } from "../errors.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";
import { refused, samplesOf } from "./check.js";
import type { Conversion } from "./convert.js";
import { INPUT } from "./input.js";

/** Each row of the input (`_ivm_row`), as often as the table has its key: whether it has it, and other values with it. */
export const MATCHES = quotePath(["temp", "ivm_input_matches"]);
/** Keys of the table whose rows are to be deleted, and how many rows each has. */
export const VICTIMS = quotePath(["temp", "ivm_input_victims"]);

const q = quoteIdentifier;

export interface Differences {
  readonly input: bigint;
  readonly inserted: bigint;
  readonly updated: bigint;
  readonly deleted: bigint;
}

export interface Comparison {
  /** For messages. */
  readonly table: string;
  /** The table in FROM; an empty SELECT in brackets where it does not exist. */
  readonly relation: string;
  readonly conversions: readonly Conversion[];
  readonly key: readonly string[];
  readonly kind: "append" | "merge";
  readonly deleteMissing: boolean;
}

/** Without a key every row of the input is new. */
export async function countInput(session: Session): Promise<Differences> {
  const { n } = await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM ${INPUT}`);
  return { input: n, inserted: n, updated: 0n, deleted: 0n };
}

/**
 * Fills MATCHES and VICTIMS. Values are compared as DuckDB's IS DISTINCT FROM does.
 * @throws IngestError where the key does not tell the table's rows apart, or an append would change a row.
 */
export async function compare(session: Session, comparison: Comparison): Promise<Differences> {
  const { conversions, key } = comparison;
  const columns = conversions.map(({ target, expression }) => `${expression} AS ${q(target.name)}`);
  const input = `SELECT rowid AS _ivm_row, ${columns.join(", ")} FROM ${INPUT}`;
  const sameKey = key.map((name) => `input.${q(name)} = present.${q(name)}`).join(" AND ");
  const others = conversions.filter(({ target }) => !key.includes(target.name));
  const differs = ["false", ...others.map(({ target }) => distinct(target.type, q(target.name)))].join(" OR ");
  const matched = "present._ivm_present IS NOT NULL";
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${MATCHES} AS
    SELECT input._ivm_row, ${matched} AS matched, ${matched} AND (${differs}) AS differs
    FROM (${input}) AS input
    LEFT JOIN (SELECT *, true AS _ivm_present FROM ${comparison.relation}) AS present ON ${sameKey}`);
  const counts = await session.row<Differences & { matches: bigint; matched: bigint }>(`
    SELECT (SELECT count(*) FROM ${INPUT}) AS input, count(*) AS matches, count(*) FILTER (WHERE matched) AS matched,
           count(*) FILTER (WHERE NOT matched) AS inserted, count(*) FILTER (WHERE differs) AS updated, 0 AS deleted
    FROM ${MATCHES}`);
  if (comparison.kind === "append" && counts.updated > 0n) throw await keyExists(session, comparison);
  if (comparison.kind === "merge" && counts.matches > counts.input) throw await keyNotUnique(session, comparison);
  const { input: rows, inserted, updated } = counts;
  const deleted = await fillVictims(session, comparison, { input, sameKey, matched: counts.matched });
  return { input: rows, inserted, updated, deleted };
}

/**
 * Comparing two values of a VARIANT fails where their types differ, and IS DISTINCT FROM holds some equal ones for
 * different (seen with dates, DuckDB 1.5.5).
 */
function distinct(type: string, column: string): string {
  const [input, present] = [`input.${column}`, `present.${column}`];
  if (!type.includes("VARIANT")) return `${input} IS DISTINCT FROM ${present}`;
  return `NOT coalesce(TRY(${input} = ${present}), ${input} IS NULL AND ${present} IS NULL)`;
}

async function keyExists(session: Session, comparison: Comparison): Promise<IngestError> {
  const { table } = comparison;
  const { keys, samples } = await keysOf(session, comparison, `SELECT _ivm_row FROM ${MATCHES} WHERE differs`);
  return refused("key_exists", `${table} has ${keys} of the input already, with other values`, samples, {
    subject: { table },
    hint: "An append changes no row; use merge to replace rows by their key.",
  });
}

async function keyNotUnique(session: Session, comparison: Comparison): Promise<IngestError> {
  const { table, key } = comparison;
  const several = `SELECT _ivm_row FROM ${MATCHES} GROUP BY _ivm_row HAVING count(*) > 1`;
  const { keys, samples } = await keysOf(session, comparison, several);
  return refused(
    "table_key_duplicate",
    `${table} has several rows for ${keys} of the input (${key.join(", ")})`,
    samples,
    {
      subject: { table },
      hint: "Name the columns that identify a row, or delete the copies first.",
    },
  );
}

/** How many keys of the input some of its rows have, in words, and examples. */
async function keysOf(session: Session, comparison: Comparison, rows: string) {
  const { n } = await session.row<{ n: bigint }>(`SELECT count(DISTINCT _ivm_row) AS n FROM (${rows})`);
  const parts = comparison.conversions
    .filter(({ target }) => comparison.key.includes(target.name))
    .map((part): [string, string] => [part.target.name, part.expression]);
  const samples = await samplesOf(session, parts, `rowid IN (${rows})`);
  return { keys: `${n} ${n === 1n ? "key" : "keys"}`, samples };
}

/** Gives how many rows of the table the input does not have. */
async function fillVictims(
  session: Session,
  comparison: Comparison,
  { input, sameKey, matched }: { readonly input: string; readonly sameKey: string; readonly matched: bigint },
): Promise<bigint> {
  const { conversions, key, relation } = comparison;
  const keys = key.map(q).join(", ");
  const updated = conversions
    .filter(({ target }) => key.includes(target.name))
    .map(({ target, expression }) => `${expression} AS ${q(target.name)}`)
    .join(", ");
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${VICTIMS} AS
    SELECT ${updated}, 1::BIGINT AS _ivm_copies FROM ${INPUT}
    WHERE rowid IN (SELECT _ivm_row FROM ${MATCHES} WHERE differs)`);
  if (!comparison.deleteMissing) return 0n;
  // Each row of the table that matches does so once, so the others are known to be there before they are looked for.
  const { n } = await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM ${relation}`);
  if (n === matched) return 0n;
  // A row of the table without a key matches nothing, and goes.
  await session.run(`
    INSERT INTO ${VICTIMS} SELECT ${keys}, count(*) FROM ${relation} AS present
    ANTI JOIN (${input}) AS input ON ${sameKey} GROUP BY ALL`);
  return n - matched;
}
