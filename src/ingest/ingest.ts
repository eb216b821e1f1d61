import { randomUUID } from "node:crypto";
import { currentSnapshot, snapshotOfCommit } from "../catalog/snapshots.js";
import type { Engine } from "../engine/lake.js";
import { type Notify, notifier } from "../engine/notify.js";
import type { Session } from "../engine/session.js";
import { ConfigError, ConflictError, IngestError } from "../errors.js";
import { typedNulls } from "../sql/quote.js";
import type { IngestEvent, IngestOptions, IngestResult, IngestSource } from "../types.js";
import type { StateTables } from "../view/state.js";
import { storageTypes } from "../view/storage-types.js";
import { checkKeys, checkValues, matchColumns, resolveKey } from "./check.js";
import { compare, countInput, type Differences } from "./compare.js";
import { READ_HINT } from "./files.js";
import { WriteGuard } from "./guard.js";
import { type Input, type InputColumn, originOf, stage, understand } from "./input.js";
import { findTarget, type Target, type TargetColumn, targetName, targetPath } from "./target.js";
import { createTable, insertAll, writeChanges } from "./write.js";

export interface IngestContext {
  readonly session: Session;
  readonly engine: Engine;
  readonly state: StateTables;
  /** Runs work again while other writers are in its way. */
  readonly retry: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

export interface IngestRequest {
  readonly kind: "append" | "merge";
  readonly table: string;
  readonly source: IngestSource;
  /** Null for an append of everything. */
  readonly key: readonly string[] | null;
  readonly deleteMissing: boolean;
  readonly create: boolean;
  readonly dryRun: boolean;
  readonly notify: Notify<IngestEvent>;
}

/** What appends and merges share of a request. */
export function ingestRequest(table: string, source: IngestSource, options: IngestOptions) {
  const notify = notifier(options);
  return { table, source, create: options.create === true, dryRun: options.dryRun === true, notify };
}

/** What one attempt needs to know of the one before. */
interface Progress {
  /** A file that was read for these columns. */
  staged?: { readonly columns: readonly InputColumn[]; readonly wanted: string };
}

/**
 * Reads the input, compares it with the table by key and writes the differences in one transaction of the lake;
 * nothing at all where there are none.
 */
export async function ingest(context: IngestContext, request: IngestRequest): Promise<IngestResult> {
  const startedAt = performance.now();
  if (request.kind === "merge" && (request.key ?? []).length === 0) {
    throw new ConfigError("key_missing", "A merge needs the columns that identify a row.", {
      hint: "Name them with --key, or as `key` in the library.",
    });
  }
  const input = await understand(context.session, request.source);
  const progress: Progress = {};
  const done = await context.retry(() => attempt(context, request, input, progress));
  return { ...done, elapsedMs: performance.now() - startedAt };
}

type Attempted = Omit<IngestResult, "elapsedMs">;

async function attempt(
  context: IngestContext,
  request: IngestRequest,
  input: Input,
  progress: Progress,
): Promise<Attempted> {
  const { session, engine, state } = context;
  request.notify({ kind: "reading", table: request.table });
  // A file is read once, however often the writing is tried; a query reads the lake, so it belongs into the transaction.
  if (input.kind === "file") await stageFile(context, request, input, progress);
  const commitId = randomUUID();
  const result = await session.transaction(async () => {
    const snapshot = await currentSnapshot(session);
    const found = await findTarget(session, engine, state, request.table);
    const wanted = requireTable(found, request);
    const columns =
      input.kind === "query" ? await stage(session, engine, input, wanted) : stagedColumns(progress, wanted);
    const target = wanted === null ? { ...found, columns: await newColumns(session, found, columns, request) } : found;
    return {
      snapshot,
      ...(await write(context, request, input, { target, columns, isNew: wanted === null, commitId })),
    };
  });
  if (result.needsGuard !== undefined) {
    await result.needsGuard.prepare(session);
    return attempt(context, request, input, progress);
  }
  const { snapshot, target, created, differences, wrote } = result;
  return {
    table: targetName(target),
    kind: request.kind,
    status: created || changed(differences) ? "written" : "unchanged",
    created,
    dryRun: request.dryRun,
    rows: { ...differences, unchanged: differences.input - differences.inserted - differences.updated },
    snapshot: wrote ? ((await snapshotOfCommit(session, engine, snapshot, commitId)) ?? null) : null,
  };
}

async function stageFile(
  context: IngestContext,
  request: IngestRequest,
  input: Extract<Input, { kind: "file" }>,
  progress: Progress,
): Promise<void> {
  const { session, engine, state } = context;
  const wanted = requireTable(await findTarget(session, engine, state, request.table), request);
  const form = JSON.stringify(wanted);
  if (progress.staged?.wanted === form) return;
  progress.staged = { columns: await stage(session, engine, input, wanted), wanted: form };
}

/** The file's columns as they were read; @throws ConflictError where the table has changed its form since. */
function stagedColumns(progress: Progress, wanted: readonly TargetColumn[] | null): readonly InputColumn[] {
  if (progress.staged !== undefined && progress.staged.wanted === JSON.stringify(wanted))
    return progress.staged.columns;
  throw new ConflictError("moved", "The table was changed while the file was read.", {
    hint: "Run the same command again.",
  });
}

function requireTable(target: Target, request: IngestRequest): readonly TargetColumn[] | null {
  if (target.columns !== null || request.create) return target.columns;
  throw new ConfigError("table_missing", `The lake has no table ${targetName(target)}.`, {
    subject: { table: targetName(target) },
    hint: "Check the name, or create the table with --create (`create: true` in the library).",
  });
}

/** The columns of a table that is to be made for the input. */
async function newColumns(
  session: Session,
  target: Target,
  input: readonly InputColumn[],
  request: IngestRequest,
): Promise<TargetColumn[]> {
  const stored = await storageTypes(
    session,
    input.map((column) => column.type),
  );
  const columns = input.map(({ name }, index): TargetColumn => {
    const storage = stored[index];
    if (storage === undefined || storage.kind === "refused") {
      throw new IngestError("column_type", `Column ${name} is ${storage?.type}, which a lake can't store.`, {
        subject: { table: targetName(target), column: name },
        hint: "Cast it to another type in a query.",
      });
    }
    return { name, type: storage.type, nullable: true };
  });
  const key = resolveKey(targetName(target), columns, request.key ?? []);
  return columns.map((column) => ({ ...column, nullable: !key.includes(column.name) }));
}

interface Prepared {
  readonly target: Target;
  readonly columns: readonly InputColumn[];
  /** The table does not exist yet. */
  readonly isNew: boolean;
  readonly commitId: string;
}

interface Wrote {
  readonly target: Target;
  readonly created: boolean;
  readonly differences: Differences;
  readonly wrote: boolean;
  /** There is something to write, but not yet what keeps two writers apart. */
  readonly needsGuard?: WriteGuard;
}

/** Checks, compares and writes, in the open transaction. */
async function write(
  context: IngestContext,
  request: IngestRequest,
  input: Input,
  { target, columns, isNew, commitId }: Prepared,
): Promise<Wrote> {
  const { session, state } = context;
  const table = targetName(target);
  const own = target.columns ?? [];
  const key = request.key === null ? null : resolveKey(table, own, request.key);
  const conversions = matchColumns(table, own, columns, separatorHint(input, columns, own));
  await checkValues(session, table, conversions);
  if (key !== null) await checkKeys(session, table, conversions, key);
  const { kind, deleteMissing } = request;
  const relation = isNew ? emptyRelation(own) : targetPath(target);
  request.notify({ kind: "comparing", table });
  const differences =
    key === null
      ? await countInput(session)
      : await compare(session, { table, relation, conversions, key, kind, deleteMissing });
  const nothing = { target, created: isNew, differences, wrote: false };
  if (request.dryRun || !(isNew || changed(differences))) return nothing;
  if (isNew) await createTable(session, target, own);
  else if (key !== null) {
    const guard = new WriteGuard(state, target);
    if (!(await guard.exists(session))) return { ...nothing, needsGuard: guard };
    await guard.hold(session, commitId);
  }
  request.notify({ kind: "writing", table, rows: differences });
  if (key === null) await insertAll(session, target, conversions);
  else await writeChanges(session, target, conversions, key);
  const { inserted, updated, deleted } = differences;
  await state.commitMessage(session, `${kind} ${table}: ${inserted} inserted, ${updated} updated, ${deleted} deleted`, {
    commit: commitId,
    ingest: kind,
    table,
    ...(key === null ? {} : { key }),
    from: originOf(input),
    rows: differences,
  });
  return { ...nothing, wrote: true };
}

/** A text file all of whose columns are read as one is separated by something else. */
function separatorHint(
  input: Input,
  columns: readonly InputColumn[],
  wanted: readonly TargetColumn[],
): string | undefined {
  const isText = input.kind === "file" && (input.format === "csv" || input.format === "tsv");
  return isText && columns.length === 1 && wanted.length > 1 ? READ_HINT[input.format] : undefined;
}

/** Stands for the rows of a table that does not exist yet. */
function emptyRelation(columns: readonly TargetColumn[]): string {
  return `(SELECT ${typedNulls(columns)} WHERE false)`;
}

function changed({ inserted, updated, deleted }: Differences): boolean {
  return inserted + updated + deleted > 0n;
}
