/**
 * What must hold for a change log at any time, found out by a reader that shares no code with the product: it goes by
 * the lake's own tables, plain DuckDB and Parquet files.
 */
import { expect } from "vitest";
import { quoteIdentifier, quoteLiteral } from "../../src/sql/quote.js";
import type { LogScene } from "./scene.js";

const q = quoteIdentifier;

export interface Entry {
  readonly id: string;
  readonly kind: "base" | "segment";
  readonly from: bigint | null;
  readonly to: bigint;
  readonly level: number;
  readonly part: number;
  readonly file: string | null;
  readonly rows: bigint;
  readonly bytes: bigint;
  readonly least: string | null;
  readonly greatest: string | null;
}

export interface LogFacts {
  readonly log: string;
  readonly epoch: string;
  readonly generation: bigint;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly stored: string }[];
  readonly key: readonly string[];
  readonly keyKind: "declared" | "derived" | "all";
  readonly weight: string;
  readonly fingerprint: string;
  /** Bases first, then segments, in the order of their windows. */
  readonly entries: readonly Entry[];
}

/** What the lake's tables say of a log; undefined where there is none. */
export async function readFacts(scene: LogScene, view: string): Promise<LogFacts | undefined> {
  const [log] = await scene.rows<{ log: string; epoch: string; schema: string; generation: bigint }>(
    `SELECT log, epoch, "schema", generation FROM lake.ivm.logs WHERE log = ${quoteLiteral(view)}`,
  );
  if (log === undefined) return undefined;
  const entries = await scene.rows<Entry>(
    `SELECT id, kind, from_snapshot AS "from", to_snapshot AS "to", level, part, file, "rows", bytes, least, greatest
     FROM lake.ivm.segments WHERE log = ${quoteLiteral(view)} AND epoch = ${quoteLiteral(log.epoch)}
       AND id NOT IN (SELECT id FROM lake.ivm.retired) ORDER BY kind, to_snapshot, part`,
  );
  return { ...JSON.parse(log.schema), log: log.log, epoch: log.epoch, generation: log.generation, entries };
}

export function basesOf(facts: LogFacts): readonly Entry[] {
  return facts.entries.filter((entry) => entry.kind === "base");
}

export function segmentsOf(facts: LogFacts): readonly Entry[] {
  return facts.entries.filter((entry) => entry.kind === "segment");
}

/** Positions that the log can answer for, ascending. */
export function positionsOf(facts: LogFacts): readonly bigint[] {
  const [base] = basesOf(facts);
  return [...(base === undefined ? [] : [base.to]), ...segmentsOf(facts).map((entry) => entry.to)];
}

/** The position that the log has come to. */
export function endOf(facts: LogFacts): bigint | undefined {
  return positionsOf(facts).at(-1);
}

export async function checkLog(scene: LogScene, facts: LogFacts): Promise<void> {
  expectWindowsInOrder(facts);
  for (const entry of facts.entries) {
    // Files never change, so each is looked at once.
    if (!scene.checkedFiles.has(entry.id)) await checkFile(scene, facts, entry);
    scene.checkedFiles.add(entry.id);
  }
  await checkManifest(scene, facts);
  const positions = positionsOf(facts);
  for (const position of positions) await checkState(scene, facts, position);
  for (const [index, position] of positions.entries()) {
    const next = positions[Math.min(positions.length - 1, index + 1 + (index % 3))];
    if (next !== undefined) await checkChanges(scene, facts, position, next);
  }
  for (const [position, shadow] of scene.unloggedOf(facts)) await checkUnlogged(scene, facts, position, shadow);
}

/** One base, then windows without gap or overlap. */
function expectWindowsInOrder(facts: LogFacts): void {
  const bases = basesOf(facts);
  expect(new Set(bases.map((entry) => entry.to)).size, `${facts.log}: bases`).toBe(1);
  expect(bases.map((entry) => entry.part)).toEqual(bases.map((_, index) => index));
  let position = bases[0]?.to;
  for (const { from, to } of segmentsOf(facts)) {
    expect(from, `${facts.log}: a window begins where the last one ends`).toBe(position);
    expect(to > (from ?? 0n), `${facts.log}: window ${from}-${to}`).toBe(true);
    position = to;
  }
}

async function checkFile(scene: LogScene, facts: LogFacts, entry: Entry): Promise<void> {
  const what = `${facts.log}: ${entry.file ?? `window ${entry.from}-${entry.to}`}`;
  if (entry.file === null) {
    expect(entry, what).toMatchObject({ rows: 0n, bytes: 0n, least: null, greatest: null });
    return;
  }
  const path = quoteLiteral(`${scene.root}/${entry.file}`);
  const file = `read_parquet(${path}, hive_partitioning = false, file_row_number = true)`;
  const weight = q(facts.weight);
  const columns = facts.columns.map(({ name }) => q(name));
  const described = await scene.rows<{ name: string; type: string }>(
    `SELECT column_name AS name, column_type AS type FROM (DESCRIBE FROM ${file})`,
  );
  const expected = [...facts.columns.map((column) => column.name), facts.weight, "file_row_number"];
  expect(
    described.map((column) => column.name),
    what,
  ).toEqual(expected);
  expect(described.at(-2)?.type, what).toBe("BIGINT");

  const key = facts.key.map(q);
  const order = [...key, weight, ...columns.filter((column) => !key.includes(column))];
  const [counts] = await scene.rows(`
    WITH file AS (FROM ${file})
    SELECT count(*) AS "rows", (SELECT count(*) FROM (SELECT DISTINCT ${columns.join(", ")} FROM file)) AS "different",
           count(*) FILTER (WHERE ${weight} = 0) AS zeros, count(*) FILTER (WHERE ${weight} < 0) AS negative,
           (SELECT count(*) FROM (SELECT file_row_number AS place, row_number() OVER (ORDER BY ${order.join(" NULLS LAST, ")} NULLS LAST) - 1 AS should FROM file)
            WHERE place <> should) AS misplaced,
           (SELECT count(*) FROM (SELECT 1 FROM file GROUP BY ${key.join(", ")}
              HAVING count(*) FILTER (WHERE ${weight} > 0) > 1 OR count(*) FILTER (WHERE ${weight} < 0) > 1 OR max(abs(${weight})) > 1)) AS "several"
    FROM file`);
  expect(counts, what).toMatchObject({ rows: entry.rows, different: entry.rows, zeros: 0n, misplaced: 0n });
  if (entry.kind === "base") expect(counts?.["negative"], what).toBe(0n);
  // A key identifies a row: an update is its old row once and its new row once.
  if (facts.keyKind !== "all") expect(counts?.["several"], what).toBe(0n);

  await checkBounds(scene, facts, entry, file);
  await checkFooter(scene, facts, entry, path);
}

async function checkBounds(scene: LogScene, facts: LogFacts, entry: Entry, file: string): Promise<void> {
  const values = facts.key.slice(0, 8).map((name) => `CAST(${q(name)} AS VARCHAR)`);
  for (const [bound, at] of [
    [entry.least, 0n],
    [entry.greatest, entry.rows - 1n],
  ] as const) {
    const value = await scene.value(
      `SELECT CAST(to_json([${values.join(", ")}]) AS VARCHAR) FROM ${file} WHERE file_row_number = ${at}`,
    );
    if (bound !== null) expect(value, `${entry.file}`).toBe(bound);
    else expect(String(value).length).toBeGreaterThan(4_000);
  }
}

async function checkFooter(scene: LogScene, facts: LogFacts, entry: Entry, path: string): Promise<void> {
  const pairs = await scene.rows<{ key: string; value: string }>(
    `SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata(${path})`,
  );
  expect(Object.fromEntries(pairs.map(({ key, value }) => [key, value])), `${entry.file}`).toMatchObject({
    log: facts.log,
    epoch: facts.epoch,
    schema_fingerprint: facts.fingerprint,
    format_version: "1",
    level: String(entry.level),
    ...(entry.kind === "base"
      ? { base_at: String(entry.to), part: String(entry.part) }
      : { window_from: String(entry.from), window_to: String(entry.to) }),
  });
  expect(pairs.some(({ key, value }) => key === "run_id" && value.length === 36)).toBe(true);
  const [groups] = await scene.rows(
    `SELECT count(DISTINCT compression) AS kinds, any_value(compression) AS compression, max(row_group_num_rows) AS largest FROM parquet_metadata(${path})`,
  );
  expect(groups, `${entry.file}`).toMatchObject({ kinds: 1n, compression: "ZSTD" });
  expect(Number(groups?.["largest"])).toBeLessThanOrEqual(50_000);
}

/** The manifest says what the lake's tables say. */
async function checkManifest(scene: LogScene, facts: LogFacts): Promise<void> {
  const manifest = await readManifest(scene, facts);
  const fileOf = ({ file, rows, bytes, least, greatest }: Entry) => ({
    file: file === null ? null : (file.split("/").at(-1) ?? null),
    rows: Number(rows),
    bytes: Number(bytes),
    least,
    greatest,
  });
  const bases = basesOf(facts);
  expect(manifest, facts.log).toMatchObject({
    format_version: 1,
    log: facts.log,
    epoch: facts.epoch,
    generation: Number(facts.generation),
    columns: facts.columns.map(({ name, type, stored }) => ({ name, type, stored })),
    key: facts.key,
    key_kind: facts.keyKind,
    weight_column: facts.weight,
    end: Number(endOf(facts)),
    bases: [{ at: Number(bases[0]?.to), files: bases.filter((entry) => entry.file !== null).map(fileOf) }],
    segments: segmentsOf(facts).map((entry) => ({
      from: Number(entry.from),
      to: Number(entry.to),
      level: entry.level,
      ...fileOf(entry),
    })),
  });
}

export async function readManifest(scene: LogScene, facts: LogFacts): Promise<Record<string, unknown>> {
  const folder = await manifestFolder(scene, facts);
  const text = await scene.value(
    `SELECT content FROM read_text(${quoteLiteral(`${scene.root}/${folder}manifest.json`)})`,
  );
  return JSON.parse(String(text)) as Record<string, unknown>;
}

/** The log's folder, by the names of its files; for a log without any by the rule that the documentation gives. */
async function manifestFolder(scene: LogScene, facts: LogFacts): Promise<string> {
  const file = await scene.value(
    `SELECT min(file) FROM lake.ivm.segments WHERE log = ${quoteLiteral(facts.log)} AND file IS NOT NULL`,
  );
  if (typeof file === "string") return file.slice(0, file.lastIndexOf("/") + 1);
  const letters = [...Buffer.from(facts.log)].map((byte) => {
    const letter = String.fromCharCode(byte).toLowerCase();
    return /[a-z0-9_-]/.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  });
  return `${letters.join("")}/`;
}

/** Base and segments add up to what the view held there, and the product says the same. */
async function checkState(scene: LogScene, facts: LogFacts, position: bigint): Promise<void> {
  const what = `${facts.log} at ${position}`;
  const shadow = scene.shadowAt(facts, position);
  if (shadow === undefined) throw new Error(`nobody saw ${what}`);
  const read = facts.entries.filter((entry) => entry.kind === "base" || entry.to <= position);
  const rows = decoded(scene, facts, read);
  const weight = q(facts.weight);
  expect(await scene.value(`SELECT count(*) FROM (${rows}) WHERE ${weight} < 0`), what).toBe(0n);
  const columns = facts.columns.map(({ name }) => q(name)).join(", ");
  const own = `SELECT ${columns} FROM (SELECT *, unnest(range(${weight})) FROM (${rows}))`;
  const [difference] = await scene.rows(
    `SELECT (SELECT count(*) FROM (${own} EXCEPT ALL FROM ${shadow})) AS surplus,
            (SELECT count(*) FROM (FROM ${shadow} EXCEPT ALL (${own}))) AS missing`,
  );
  expect(difference, what).toEqual({ surplus: 0n, missing: 0n });

  expect(await stateLines(scene, facts, position), what).toEqual(await jsonOf(scene, facts, shadow));
}

/** Of where a run without a log has brought the view the log tells nothing, rather than what is wrong. */
async function checkUnlogged(scene: LogScene, facts: LogFacts, position: bigint, shadow: string): Promise<void> {
  const [oldest] = positionsOf(facts);
  if (oldest === undefined || position < oldest || position > (endOf(facts) ?? 0n)) return;
  let lines: string[];
  try {
    lines = await stateLines(scene, facts, position);
  } catch (error) {
    expect((error as { code?: unknown }).code, `${facts.log} at ${position}`).toBe("log_position_lost");
    return;
  }
  expect(lines, `${facts.log} at ${position}`).toEqual(await jsonOf(scene, facts, shadow));
}

async function stateLines(scene: LogScene, facts: LogFacts, position: bigint): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of (await scene.lake.state(facts.log, { at: position })).jsonLines()) {
    lines.push(line.slice('{"row":'.length, -1));
  }
  return lines.sort();
}

/** What the product says has changed leads from one kept state to the other, each row once. */
async function checkChanges(scene: LogScene, facts: LogFacts, from: bigint, to: bigint): Promise<void> {
  const what = `${facts.log} from ${from} to ${to}`;
  const [before, after] = [scene.shadowAt(facts, from), scene.shadowAt(facts, to)];
  if (before === undefined || after === undefined) throw new Error(`nobody saw ${what}`);
  const bag = new Map<string, number>();
  const add = (row: string, copies: number): void => {
    bag.set(row, (bag.get(row) ?? 0) + copies);
  };
  for (const row of await jsonOf(scene, facts, before)) add(row, 1);
  const changes = await scene.lake.changes(facts.log, { since: from, until: to });
  expect([changes.from, changes.to], what).toEqual([from, to]);
  const seen = new Set<string>();
  for await (const line of changes.jsonLines()) {
    const { row, weight } = partsOf(line);
    expect(seen.has(row), `${what}: ${row} twice`).toBe(false);
    expect(weight, what).not.toBe(0);
    seen.add(row);
    add(row, weight);
  }
  const rows = [...bag].flatMap(([row, copies]) => {
    expect(copies, `${what}: copies of ${row}`).toBeGreaterThanOrEqual(0);
    return Array<string>(copies).fill(row);
  });
  expect(rows.sort(), what).toEqual(await jsonOf(scene, facts, after));
}

/** A line of JSON taken apart without reading its numbers. */
export function partsOf(line: string): { readonly row: string; readonly weight: number } {
  const found = /^\{"row":(.*),"weight":(-?\d+)\}$/s.exec(line);
  if (found === null) throw new Error(`no change: ${line}`);
  return { row: found[1] ?? "", weight: Number(found[2]) };
}

/** The sum of files' rows in the view's own types. */
function decoded(scene: LogScene, facts: LogFacts, entries: readonly Entry[]): string {
  const files = entries.flatMap(({ file }) => (file === null ? [] : [quoteLiteral(`${scene.root}/${file}`)]));
  const weight = q(facts.weight);
  const columns = facts.columns.map(({ name }) => q(name));
  const types = facts.columns.map(({ name, type }) => `CAST(${q(name)} AS ${type}) AS ${q(name)}`);
  const none = `SELECT ${facts.columns.map(({ name, stored }) => `CAST(NULL AS ${stored}) AS ${q(name)}`).join(", ")}, 0 AS ${weight} WHERE false`;
  const rows = files.length === 0 ? none : `FROM read_parquet([${files.join(", ")}], hive_partitioning = false)`;
  return `SELECT ${types.join(", ")}, ${weight} FROM (
    SELECT ${columns.join(", ")}, CAST(sum(${weight}) AS BIGINT) AS ${weight} FROM (${rows})
    GROUP BY ${columns.map((_, index) => index + 1).join(", ")} HAVING sum(${weight}) <> 0)`;
}

async function jsonOf(scene: LogScene, facts: LogFacts, relation: string): Promise<string[]> {
  const fields = facts.columns.map(({ name }) => `${q(name)} := ${q(name)}`);
  const rows = await scene.rows<{ line: string }>(
    `SELECT CAST(to_json(struct_pack(${fields.join(", ")})) AS VARCHAR) AS line FROM ${relation}`,
  );
  return rows.map(({ line }) => line).sort();
}
