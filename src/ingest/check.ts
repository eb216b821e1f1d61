/** What must hold of the input before anything is written. */
import type { Session } from "../engine/session.js";
import { ConfigError, IngestError, IvmError, type IvmErrorOptions, type Sample } from "../errors.js";
import { quoteIdentifier, sameName } from "../sql/quote.js";
import { type Conversion, conversion } from "./convert.js";
import { INPUT, type InputColumn } from "./input.js";
import type { TargetColumn } from "./target.js";

const SAMPLES = 3;
const SAMPLE_LENGTH = 60;

/** The table's columns that identify a row, as the table writes them. @throws ConfigError for any that it does not have. */
export function resolveKey(table: string, columns: readonly TargetColumn[], key: readonly string[]): string[] {
  const resolved = key.map((name) => {
    const column = columns.find((candidate) => sameName(candidate.name, name));
    if (column === undefined) {
      throw new ConfigError("key_unknown", `${table} has no column ${name}, which was named as part of the key.`, {
        subject: { table, column: name },
        hint: `Its columns: ${columns.map((candidate) => candidate.name).join(", ")}.`,
      });
    }
    if (column.type.includes("VARIANT")) {
      throw new ConfigError(
        "key_type",
        `${table}: the column ${column.name} is a ${column.type}, which can't be a key.`,
        {
          subject: { table, column: column.name },
          hint: "Values of different types in it can't be compared; name other columns.",
        },
      );
    }
    return column.name;
  });
  return [...new Set(resolved)];
}

/** Pairs the columns by name. @throws IngestError for one that either side lacks. */
export function matchColumns(
  table: string,
  columns: readonly TargetColumn[],
  input: readonly InputColumn[],
  hint: string | undefined,
): Conversion[] {
  const extra = input.find((source) => !columns.some((column) => sameName(column.name, source.name)));
  if (extra !== undefined) {
    throw new IngestError(
      "column_unknown",
      `The input has a column ${shownName(extra.name)}, which ${table} does not have.`,
      {
        subject: { table, column: extra.name },
        hint:
          hint ??
          `Read what is wanted with a query; the columns of ${table}: ${columns.map(({ name }) => name).join(", ")}.`,
      },
    );
  }
  return columns.map((column) => {
    const source = input.find((candidate) => sameName(candidate.name, column.name));
    if (source === undefined) {
      throw new IngestError(
        "column_missing",
        `The input has no column ${shownName(column.name)}, which ${table} has.`,
        {
          subject: { table, column: column.name },
          hint:
            hint ?? "Every column of the table has to be there; add it in a query, as NULL where there is no value.",
        },
      );
    }
    return conversion(source, column);
  });
}

/** @throws IngestError where a value does not fit its column, or is missing where one must be. */
export async function checkValues(session: Session, table: string, conversions: readonly Conversion[]): Promise<void> {
  refuseMixedZones(table, conversions);
  const checks = conversions.flatMap((part) => [
    ...(part.loss === null ? [] : [{ part, where: part.loss, lossy: true }]),
    ...(part.target.nullable ? [] : [{ part, where: `(${part.expression}) IS NULL`, lossy: false }]),
  ]);
  if (checks.length === 0) return;
  const counts = await countEach(
    session,
    table,
    checks.map(({ where }) => where),
  );
  const index = counts.findIndex((count) => count > 0n);
  const [check, count] = [checks[index], counts[index]];
  if (check === undefined || count === undefined) return;
  const { source, target } = check.part;
  const subject = { table, column: target.name };
  if (check.lossy) {
    const from = source.text ? "" : ` of type ${source.type}`;
    const what = `${count} ${count === 1n ? "value" : "values"}${from} can't be kept as ${target.type} without loss`;
    const samples = await samplesOf(session, [[source.name, quoteIdentifier(source.stored)]], check.where);
    throw refused("value_lossy", `Column ${target.name} of ${table}: ${what}`, samples, {
      subject,
      hint: "Convert or round them in a query, or give the table's column another type.",
    });
  }
  const what = `Column ${target.name} of ${table} is NOT NULL, but ${haveNo(count)} value for it`;
  const samples = await samplesOf(session, wholeRow(conversions), check.where);
  throw refused("not_null", what, samples, {
    subject,
    hint: "Leave these rows out, or fill the column, in a query.",
  });
}

function refuseMixedZones(table: string, conversions: readonly Conversion[]): void {
  for (const { source, target, refusal } of conversions) {
    if (refusal === null) continue;
    const types = `Column ${target.name} of ${table} is ${target.type}, the input's is ${source.type}`;
    throw new IngestError("column_type", `${types}: ${refusal}.`, {
      subject: { table, column: target.name },
      hint: `Say it in a query: ${quoteIdentifier(source.name)} AT TIME ZONE 'UTC'.`,
    });
  }
}

/** How many rows of the input each of the conditions holds for. */
async function countEach(session: Session, table: string, conditions: readonly string[]): Promise<bigint[]> {
  const list = conditions.map((where, index) => `count(*) FILTER (WHERE ${where}) AS c${index}`);
  try {
    const row = await session.row<Record<string, bigint>>(`SELECT ${list.join(", ")} FROM ${INPUT}`);
    return conditions.map((_, index) => row[`c${index}`] ?? 0n);
  } catch (error) {
    // A cast that DuckDB does not have at all, such as between structs that share no field.
    if (!(error instanceof IvmError) || error.code !== "engine_error") throw error;
    const [message = ""] = error.message.split("\n");
    throw new IngestError("column_type", `The input's columns can't become those of ${table}. ${message}`, {
      subject: { table },
      hint: "Cast them in a query.",
      cause: error,
    });
  }
}

/** @throws IngestError for rows without a key, and for keys that several rows have. */
export async function checkKeys(
  session: Session,
  table: string,
  conversions: readonly Conversion[],
  key: readonly string[],
): Promise<void> {
  const parts = conversions.filter(({ target }) => key.includes(target.name));
  const subject = { table, ...(key.length === 1 && key[0] !== undefined ? { column: key[0] } : {}) };
  const missing = parts.map(({ expression }) => `(${expression}) IS NULL`).join(" OR ");
  const { n } = await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM ${INPUT} WHERE ${missing}`);
  if (n > 0n) {
    const what = `${haveNo(n)} value in the key (${key.join(", ")})`;
    throw refused("key_null", `${table}: ${what}`, await samplesOf(session, wholeRow(conversions), missing), {
      subject,
      hint: "Every row needs a key; leave these rows out, or fill the column, in a query.",
    });
  }
  const grouped = `SELECT ${parts.map(({ target, expression }) => `${expression} AS ${quoteIdentifier(target.name)}`).join(", ")}, count(*) AS _ivm_copies
    FROM ${INPUT} GROUP BY ${parts.map((_, index) => index + 1).join(", ")} HAVING count(*) > 1`;
  const { keys, copies } = await session.row<{ keys: bigint; copies: bigint | null }>(
    `SELECT count(*) AS keys, CAST(sum(_ivm_copies) AS BIGINT) AS copies FROM (${grouped})`,
  );
  if (keys > 0n) {
    const names = parts.map(({ target }): [string, string] => [target.name, quoteIdentifier(target.name)]);
    const samples = await samplesOf(session, names, "true", `(${grouped} ORDER BY ALL LIMIT ${SAMPLES})`);
    const what = `${copies} rows of the input share ${keys} ${keys === 1n ? "key" : "keys"} (${key.join(", ")})`;
    throw refused("key_duplicate", `${table}: ${what}`, samples, {
      subject,
      hint: "Name the columns that identify a row, or pick one row a key in a query.",
    });
  }
}

/** An error with examples; nothing was written. */
export function refused(code: string, what: string, samples: readonly Sample[], options: IvmErrorOptions): IngestError {
  const examples = samples.map(
    (sample) =>
      `(${Object.entries(sample)
        .map(([name, value]) => `${name} = ${value ?? "NULL"}`)
        .join(", ")})`,
  );
  const shown = examples.length === 0 ? "" : `, for example ${examples.join(", ")}`;
  return new IngestError(code, `${what}${shown}. Nothing was written.`, { ...options, samples });
}

/** Some rows of a relation as text: each column's name and the expression of its value. */
export function samplesOf(
  session: Session,
  columns: readonly (readonly [string, string])[],
  where: string,
  from: string = INPUT,
): Promise<Sample[]> {
  const list = columns.map(([name, value]) => {
    const text = `CAST(${value} AS VARCHAR)`;
    const short = `CASE WHEN length(${text}) > ${SAMPLE_LENGTH} THEN left(${text}, ${SAMPLE_LENGTH}) || '…' ELSE ${text} END`;
    return `${short} AS ${quoteIdentifier(name)}`;
  });
  return session.rows<Sample>(
    `SELECT DISTINCT ${list.join(", ")} FROM ${from} WHERE ${where} ORDER BY ALL LIMIT ${SAMPLES}`,
  );
}

function wholeRow(conversions: readonly Conversion[]): [string, string][] {
  return conversions.map(({ source }) => [source.name, quoteIdentifier(source.stored)]);
}

/** Quoted where it would not be seen, such as for a blank at its end. */
function shownName(name: string): string {
  return /^\w+$/.test(name) ? name : JSON.stringify(name);
}

function haveNo(rows: bigint): string {
  return rows === 1n ? "1 row of the input has no" : `${rows} rows of the input have no`;
}
