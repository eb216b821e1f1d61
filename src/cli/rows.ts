/** How `query`, `changes` and `state` print rows: text, JSON lines, CSV, Parquet or Arrow, to stdout or to a file. */
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { InvalidArgumentError, Option } from "commander";
import { ConfigError } from "../errors.js";
import type { LogRows, Row, Rows } from "../index.js";
import { writeBeside } from "../report/write-file.js";
import type { RowFormat, Session } from "./context.js";

export type KeyOption = Readonly<Record<string, string | null>>;

export function keyOption(): Option {
  return new Option(
    "--key <key>",
    'only rows with this key: "id=7", "day=2024-05-01,shop=3", or JSON; can be given again',
  ).argParser((text: string, earlier: readonly KeyOption[] | undefined) => [...(earlier ?? []), parseKey(text)]);
}

export function outOption(): Option {
  return new Option(
    "--out <file>",
    "write the rows to this file: .csv, .parquet, .jsonl, .json or .arrow, or as --output says",
  );
}

/** Values stay text, which the lake casts to the columns' types; JSON is for values with commas, and for NULL. */
function parseKey(text: string): KeyOption {
  if (text.trimStart().startsWith("{")) {
    try {
      const parsed = JSON.parse(text) as Record<string, unknown>;
      return Object.fromEntries(
        Object.entries(parsed).map(([name, value]) => [name, value === null ? null : String(value)]),
      );
    } catch {
      throw new InvalidArgumentError("It is not a JSON object.");
    }
  }
  const parts = text.split(",").map((part) => {
    const equals = part.indexOf("=");
    if (equals < 1) throw new InvalidArgumentError("A key is written as column=value, with commas between columns.");
    return [part.slice(0, equals).trim(), part.slice(equals + 1)] as const;
  });
  return Object.fromEntries(parts);
}

/** What a file's ending says of the form of its rows. */
const FILE_FORMATS: Readonly<Record<string, RowFormat>> = {
  ".csv": "csv",
  ".parquet": "parquet",
  ".json": "jsonl",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".arrow": "arrow",
  ".arrows": "arrow",
};

/** Prints or writes the rows, and answers how many there were; null where nobody counted them. */
export async function writeRows(
  session: Session,
  rows: LogRows | Rows,
  file: string | undefined,
): Promise<bigint | null> {
  try {
    const format = session.rowFormat;
    if (file !== undefined) return await writeFile(rows, format, file);
    if (format === "text") return await printTable(session, rows);
    if (format === "csv" || format === "parquet") return await throughFile(session, rows, format);
    return await send(session.out, format === "arrow" ? rows.arrow() : lines(rows, format));
  } finally {
    // Rows that nobody came to read don't close themselves.
    rows.close();
  }
}

async function writeFile(rows: LogRows | Rows, wanted: RowFormat, file: string): Promise<bigint | null> {
  const format = wanted === "text" ? FILE_FORMATS[extname(file).toLowerCase()] : wanted;
  if (format === undefined) {
    throw new ConfigError("out_format", `How ${file} is to be written can't be told from its ending.`, {
      subject: { file },
      hint: "Name it .csv, .parquet, .jsonl or .arrow, or add --output csv, parquet, jsonl, json or arrow.",
    });
  }
  return writeBeside(file, async (path) => {
    if (format === "csv" || format === "parquet") return rows.copyTo(path, format);
    const sent = new Sent();
    await pipeline(sent.counted(format === "arrow" ? rows.arrow() : lines(rows, format)), createWriteStream(path));
    return sent.lines;
  });
}

/** In jsonl a line is a row; in json it is an object with the row, as the last line is one with the summary. */
async function* lines(rows: LogRows | Rows, format: RowFormat): AsyncGenerator<string> {
  const areLogRows = "weightColumn" in rows;
  if (format === "jsonl") {
    for await (const line of areLogRows ? rows.flatJsonLines() : rows.jsonLines()) yield `${line}\n`;
  } else {
    for await (const line of rows.jsonLines()) yield areLogRows ? `${line}\n` : `{"row":${line}}\n`;
  }
}

/** How many lines went out; null for bytes, whose rows nobody has counted. */
class Sent {
  lines: bigint | null = 0n;

  async *counted(parts: AsyncIterable<string | Uint8Array>): AsyncGenerator<string | Uint8Array> {
    for await (const part of parts) {
      if (typeof part !== "string") this.lines = null;
      else if (this.lines !== null) this.lines += 1n;
      yield part;
    }
  }
}

/** What goes wrong with stdout is the frame's to tell, and it stays open for the summary. */
async function send(out: Writable, parts: AsyncIterable<string | Uint8Array>): Promise<bigint | null> {
  const sent = new Sent();
  for await (const part of sent.counted(parts)) {
    // A slow reader holds up the reading of files, not the memory of this process.
    if (!out.write(part)) await once(out, "drain");
  }
  return sent.lines;
}

/** DuckDB writes files; what goes to a pipe goes through one. */
async function throughFile(session: Session, rows: LogRows | Rows, format: "csv" | "parquet"): Promise<bigint> {
  const folder = await mkdtemp(join(tmpdir(), "ducklake-ivm-rows-"));
  try {
    const path = join(folder, "rows");
    const count = await rows.copyTo(path, format);
    await send(session.out, createReadStream(path));
    return count;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** As many rows as a person reads; the other formats have them all. */
const SHOWN = 1_000;

async function printTable(session: Session, rows: LogRows | Rows): Promise<bigint | null> {
  const { table } = await import("./format.js");
  const shown: string[][] = [];
  const weighted = "weightColumn" in rows && rows.weightColumn !== null;
  const texts = (row: Row): string[] => Object.values(row).map((value) => (value === null ? "NULL" : String(value)));
  for await (const { row, weight } of weightedRows(rows)) {
    if (shown.length === SHOWN) {
      session.say(`Only the first ${SHOWN} rows are shown; --output csv or --out has them all.`);
      break;
    }
    const sign = weight > 0n ? session.style.green(`+${weight}`) : session.style.red(String(weight));
    shown.push([...(weighted ? [sign] : []), ...texts(row)]);
  }
  const titles = [...(weighted ? ["WEIGHT#"] : []), ...rows.columns.map((column) => column.name)];
  for (const line of table(titles, shown, session.style)) session.say(line);
  return BigInt(shown.length);
}

async function* weightedRows(rows: LogRows | Rows): AsyncGenerator<{ readonly row: Row; readonly weight: bigint }> {
  if ("weightColumn" in rows) yield* rows;
  else for await (const row of rows.printed()) yield { row, weight: 1n };
}
