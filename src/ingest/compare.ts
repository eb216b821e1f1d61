/** The input against the table: which rows of it are new or other, and which rows of the table go. */
import type { Session } from "../engine/session.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";
import { refused, samplesOf } from "./check.js";
import type { Conversion } from "./convert.js";
import { INPUT } from "./input.js";

/** Rows of the input that are to be written: the row's id in the input, and the copies of its key in the table. */
export const CHANGES = quotePath(["temp", "ivm_input_changes"]);
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
 * Fills CHANGES and VICTIMS. Values are compared as DuckDB's IS DISTINCT FROM does.
 * @throws IngestError where the key does not tell the table's rows apart, or an append would change a row.
 */
export async function compare(session: Session, comparison: Comparison): Promise<Differences> {
  const { conversions, key } = comparison;
  const input = `SELECT rowid AS ivm_row, ${conversions.map(({ target, expression }) => `${expression} AS ${q(target.name)}`).join(", ")} FROM ${INPUT}`;
  const sameKey = key.map((name) => `input.${q(name)} = present.${q(name)}`).join(" AND ");
  const others = conversions.filter(({ target }) => !key.includes(target.name));
  const differs = others.map(({ target }) => distinct(target.type, q(target.name))).join(" OR ");
  // Rows of the table that match no row of the input have no part in this.
  await session.run(`
    CREATE OR REPLACE TEMP TABLE ${CHANGES} AS
    SELECT ivm_row, copies, differs FROM (
      SELECT input.ivm_row, count(present.ivm_present) AS copies,
             coalesce(bool_or(present.ivm_present AND (${differs === "" ? "false" : differs})), false) AS differs
      FROM (${input}) AS input LEFT JOIN (SELECT *, true AS ivm_present FROM ${comparison.relation}) AS present ON ${sameKey}
      GROUP BY input.ivm_row
    ) WHERE copies <> 1 OR differs`);
  await checkMatches(session, comparison);
  await fillVictims(session, comparison, input, sameKey);
  return session.row<Differences>(`
    SELECT (SELECT count(*) FROM ${INPUT}) AS input,
           (SELECT count(*) FROM ${CHANGES} WHERE copies = 0) AS inserted,
           (SELECT count(*) FROM ${CHANGES} WHERE copies > 0 AND differs) AS updated,
           (SELECT CAST(coalesce(sum(copies), 0) AS BIGINT) FROM ${VICTIMS} WHERE gone) AS deleted`);
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

async function checkMatches(session: Session, comparison: Comparison): Promise<void> {
  const { table, key, kind } = comparison;
  const wrong = kind === "append" ? "differs" : "copies > 1";
  const { n } = await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM ${CHANGES} WHERE ${wrong}`);
  if (n === 0n) return;
  const samples = await samplesOf(
    session,
    comparison.conversions
      .filter(({ target }) => key.includes(target.name))
      .map((part) => [part.target.name, part.expression]),
    `rowid IN (SELECT ivm_row FROM ${CHANGES} WHERE ${wrong})`,
  );
  const keys = `${n} ${n === 1n ? "key" : "keys"} of the input`;
  if (kind === "append") {
    throw refused("key_exists", `${table} has ${keys} already, with other values`, samples, {
      subject: { table },
      hint: "An append changes no row; use merge to replace rows by their key.",
    });
  }
  throw refused("table_key_duplicate", `${table} has several rows for ${keys} (${key.join(", ")})`, samples, {
    subject: { table },
    hint: "Name the columns that identify a row, or delete the copies first.",
  });
}

async function fillVictims(session: Session, comparison: Comparison, input: string, sameKey: string): Promise<void> {
  const { conversions, key } = comparison;
  const keys = key.map(q).join(", ");
  const updated = conversions
    .filter(({ target }) => key.includes(target.name))
    .map(({ target, expression }) => `${expression} AS ${q(target.name)}`)
    .join(", ");
  const replaced = `
    SELECT ${keys}, 1 AS copies, false AS gone
    FROM (SELECT ${updated} FROM ${INPUT} WHERE rowid IN (SELECT ivm_row FROM ${CHANGES} WHERE differs))`;
  // A row of the table without a key matches nothing, and goes.
  const missing = `
    SELECT ${keys}, count(*) AS copies, true AS gone
    FROM ${comparison.relation} AS present ANTI JOIN (${input}) AS input ON ${sameKey} GROUP BY ALL`;
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${VICTIMS} AS ${replaced}${comparison.deleteMissing ? ` UNION ALL ${missing}` : ""}`,
  );
}
