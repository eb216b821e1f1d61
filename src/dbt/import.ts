/** Takes a dbt project's models over as view files. */
import { randomUUID } from "node:crypto";
import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { loadFunctions } from "../sql/functions.js";
import { parseStatements } from "../sql/parse.js";
import type { DbtImportOptions, DbtImportResult, ImportedModel, LeftModel } from "../types/dbt.js";
import { type Manifest, type ManifestNode, readManifest } from "./manifest.js";
import { type LakeName, readRelation, translate } from "./view-sql.js";

const IS_INCREMENTAL = "macro.dbt.is_incremental";
const TAKEN = ["table", "view", "incremental"];
const TAG = /^[\p{L}\p{N}_.-]+$/u;

/**
 * Reads the manifest of a compiled dbt project (schema versions 10 to 12) and writes a view file for each model that a
 * view can be: SQL models that are tables, views or incremental without logic of their own. What they read of other
 * models becomes a view's name; sources, seeds, snapshots and models that are left stay tables, by schema and name.
 * @param from the dbt project's folder, or its `target/manifest.json`.
 * @param folder where the files go; nothing is written where one of them is there already, unless `force` is set.
 * @throws ConfigError for a manifest that can't be read (`manifest_…`), `file_exists` and `file_unwritable`.
 */
export async function importDbt(
  from: string,
  folder: string,
  options: DbtImportOptions = {},
): Promise<DbtImportResult> {
  const manifest = await readManifest(from);
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const { files, left } = await takeModels(new Session(connection), manifest);
    if (options.dryRun !== true) await writeAll(folder, files, options.force === true);
    const models = files.map(
      ({ content: _, ...model }): ImportedModel => ({ ...model, file: join(folder, model.file) }),
    );
    return { models, left };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

interface ViewFile extends ImportedModel {
  readonly content: string;
}

async function takeModels(session: Session, manifest: Manifest): Promise<{ files: ViewFile[]; left: LeftModel[] }> {
  const { volatile } = await loadFunctions(session);
  const left: LeftModel[] = [];
  const leave = (node: ManifestNode, code: string, reason: string): void => {
    left.push({ model: node.name, kind: node.resource_type, code, reason });
  };
  const candidates: ManifestNode[] = [];
  for (const node of Object.values(manifest.nodes).filter(isOurs)) {
    const refusal = refusalOf(node, candidates);
    if (refusal === undefined) candidates.push(node);
    else leave(node, ...refusal);
  }
  // A model that is left is a table for those that read it, so leaving one changes the others' SQL.
  for (;;) {
    const relations = await relationsOf(session, manifest, candidates);
    const files: ViewFile[] = [];
    let refused: ManifestNode | undefined;
    for (const node of candidates) {
      const taken = await translate(session, node.compiled_code ?? "", relations);
      const random = "problem" in taken ? undefined : taken.functions.find((name) => volatile.has(name));
      if ("problem" in taken) leave(node, "sql", taken.problem);
      else if (random !== undefined) leave(node, "volatile_function", `it calls ${random}, which has no single answer`);
      else {
        files.push(await viewFile(session, node, taken.sql));
        continue;
      }
      refused = node;
      break;
    }
    if (refused === undefined) return { files, left };
    candidates.splice(candidates.indexOf(refused), 1);
  }
}

function isOurs(node: ManifestNode): boolean {
  return ["model", "seed", "snapshot"].includes(node.resource_type) && node.config.enabled !== false;
}

/** Code and reason why a model can't be a view, as far as the manifest alone tells. */
function refusalOf(node: ManifestNode, before: readonly ManifestNode[]): [string, string] | undefined {
  const { materialized } = node.config;
  const name = viewName(node);
  if (node.resource_type === "seed") return ["seed", "it is a file: load it with `ducklake-ivm merge`"];
  if (node.resource_type === "snapshot") return ["snapshot", "it keeps old versions, which a view does not"];
  if (node.language === "python") return ["python", "it is written in Python"];
  if (materialized === "ephemeral") return ["ephemeral", "it became part of the models that read it"];
  if (!TAKEN.includes(materialized ?? "")) return ["materialization", `it is materialized as ${materialized}`];
  if (node.depends_on?.macros?.includes(IS_INCREMENTAL) === true) {
    return ["is_incremental", "it asks is_incremental(): write the whole query, the rest is no longer needed"];
  }
  if (!node.compiled_code) return ["not_compiled", "the manifest has no SQL of it: run `dbt compile`"];
  if (!/^[^./\\\0]+$/.test(name)) return ["name", `"${name}" can't be a view's name`];
  const other = before.find((one) => viewName(one).toLowerCase() === name.toLowerCase());
  return other && ["name", `a view has that name already, the one of ${other.unique_id}`];
}

function viewName(node: ManifestNode): string {
  return node.alias || node.name;
}

async function relationsOf(
  session: Session,
  manifest: Manifest,
  taken: readonly ManifestNode[],
): Promise<ReadonlyMap<string, LakeName>> {
  const relations = new Map<string, LakeName>();
  const add = async (relation: string | null | undefined, name: LakeName): Promise<void> => {
    const key = relation ? await readRelation(session, relation) : undefined;
    if (key !== undefined) relations.set(key, name);
  };
  for (const source of Object.values(manifest.sources)) {
    await add(source.relation_name, { schema: source.schema, table: source.identifier });
  }
  for (const node of Object.values(manifest.nodes)) {
    const table = viewName(node);
    await add(node.relation_name, taken.includes(node) || !node.schema ? { table } : { schema: node.schema, table });
  }
  return relations;
}

async function viewFile(session: Session, node: ManifestNode, sql: string): Promise<ViewFile> {
  const notes: string[] = [];
  const keys = [node.config.unique_key ?? []].flat();
  const columns = await Promise.all(keys.map((key) => columnName(session, key)));
  const isKey = keys.length > 0 && columns.every((column) => column !== undefined);
  if (keys.length > 0 && !isKey) notes.push(`unique_key ${keys.join(", ")} names no columns and is left out`);
  const tags = [...new Set(node.tags ?? [])];
  const fitting = tags.filter((tag) => TAG.test(tag));
  if (fitting.length < tags.length) notes.push("tags with other letters than a view's tags may have are left out");
  const header = [
    ...(isKey ? [`primary_key: ${JSON.stringify(columns)}`] : []),
    ...(fitting.length > 0 ? [`tags: ${JSON.stringify(fitting)}`] : []),
  ];
  const description = (node.description ?? "").trim();
  const lines = [
    ...(header.length > 0 ? ["/* ---", ...header, "--- */"] : []),
    ...(description === "" ? [] : description.split(/\r\n|[\r\n]/).map((line) => `-- ${line}`.trimEnd())),
    sql,
  ];
  return { model: node.name, view: viewName(node), file: fileName(node), notes, content: `${lines.join("\n")}\n` };
}

/** The column that a key names; undefined for an expression, and for a name that would end the header's comment. */
async function columnName(session: Session, key: string): Promise<string | undefined> {
  const parsed = await parseStatements(session, `SELECT ${key}`);
  const [statement] = parsed.kind === "statements" && parsed.statements.length === 1 ? parsed.statements : [];
  const item = (statement?.["node"] as { select_list?: readonly Record<string, unknown>[] } | undefined)?.select_list;
  const [column] = item ?? [];
  const names = column?.["class"] === "COLUMN_REF" ? (column["column_names"] as readonly string[]) : [];
  const [name] = names;
  return item?.length === 1 && names.length === 1 && name !== undefined && !name.includes("*/") ? name : undefined;
}

/** The model's own folders, as far as they are plain names. */
function fileName(node: ManifestNode): string {
  const folders = node.path.split(/[/\\]/).slice(0, -1);
  const plain = folders.every((part) => part !== "" && !part.startsWith(".") && !part.includes("\0"));
  return join(...(plain ? folders : []), `${viewName(node)}.sql`);
}

async function writeAll(folder: string, files: readonly ViewFile[], force: boolean): Promise<void> {
  const paths = files.map(({ file }) => join(folder, file));
  const present = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => [path],
        () => [],
      ),
    ),
  );
  const there = present.flat();
  if (there.length > 0 && !force) {
    throw new ConfigError("file_exists", `Nothing was written, since these files are there: ${there.join(", ")}`, {
      subject: { file: there[0] as string },
      hint: "Overwrite them with --force, or name another folder with --into.",
    });
  }
  for (const [index, { content }] of files.entries()) await writeWhole(paths[index] as string, content);
}

/** A reader finds the old file or the new one. */
async function writeWhole(path: string, content: string): Promise<void> {
  const unfinished = join(dirname(path), `.${randomUUID()}.unfinished`);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(unfinished, content, { flag: "wx" });
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError("file_unwritable", `Can't write ${path}: ${reason}`, {
      subject: { file: path },
      hint: "Name a folder that may be written with --into.",
      cause: error,
    });
  }
}
