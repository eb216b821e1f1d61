import { catalogExtensions } from "../engine/extensions.js";
import type { Engine } from "../engine/lake.js";
import { type Notify, notifier } from "../engine/notify.js";
import type { Session } from "../engine/session.js";
import { ConfigError, ConflictError, IvmError, LakeError } from "../errors.js";
import { type Consumer, commitConsumer, requireConsumer, requireLogState } from "../log/consumers.js";
import { dataPathOf } from "../log/place.js";
import { decodedRows } from "../log/read.js";
import type { LogState } from "../log/registry.js";
import type { LogRoot } from "../log/root.js";
import { consumerLog } from "../log/verbs.js";
import { changesBetween, type LogRead, positionsOf, stateAt } from "../log/window.js";
import { parseTableName } from "../sql/parse.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { Reason, ReplayEvent, ReplayOptions, ReplayResult } from "../types.js";
import { type TargetAddress, targetAddress } from "./address.js";
import { type AppliedRows, applyChanges, applyState, fill, type MirrorWork } from "./apply.js";
import { duckdbTarget } from "./duckdb.js";
import { movePosition, POSITIONS, type Position, preparePositions, readPosition } from "./position.js";
import { postgresTarget } from "./postgres.js";
import { type MirrorColumn, TARGET_NAME, type Target, type TargetTable } from "./target.js";

export interface ReplayContext {
  readonly session: Session;
  readonly engine: Engine;
  readonly root: LogRoot;
}

/** Brings a mirror of a view to the end of the view's log, in one transaction of the target. */
export async function replay(context: ReplayContext, options: ReplayOptions): Promise<ReplayResult> {
  const started = performance.now();
  const { session, root } = context;
  const address = targetAddress(options.into, options.table);
  const consumer = await requireConsumer(session, root, options.consumer);
  const state = await consumerLog(session, root, options.view, consumer);
  requireKey(state);
  const { log } = state;
  const notify = notifier(options);
  const name = await parseTableName(session, address.table);
  if (name.catalog !== null || name.table.toLowerCase() === POSITIONS) {
    throw new ConfigError("table_name", `${address.table} can't be a mirror's name.`, {
      hint: 'Write it as in SQL: sales, reporting.sales or reporting."daily sales".',
    });
  }
  const applied = await withTarget(context, address, async (target) => {
    const { schema } = await target.find(name.schema, POSITIONS);
    await preparePositions(target, schema);
    const { table, columns } = await target.find(name.schema, name.table);
    if (columns !== null) await target.settle(schema, table);
    // The table is looked up again, by what the transaction sees: another replay may just have made it.
    const result = await session.transaction(async () =>
      apply(context, target, { ...options, notify, log, ...(await target.find(name.schema, name.table)) }),
    );
    if (result.created) await target.settle(schema, table);
    return { ...result, target: { kind: target.kind, table: `${schema}.${table}` } };
  });
  const { epoch, ...result } = applied;
  const consumerMoved = await follow(context, consumer, epoch, applied.to);
  return { view: log, consumer: consumer.name, ...result, consumerMoved, elapsedMs: performance.now() - started };
}

function requireKey({ log, schema }: LogState): void {
  if (schema.keyKind !== "all") return;
  throw new ConfigError("replay_no_key", `View ${log} has no key that its rows could be replaced by.`, {
    subject: { view: log },
    hint: "Give it a primary_key, or GROUP BY what identifies a row.",
  });
}

/** Attaches the target for the length of some work. */
async function withTarget<Result>(
  { session, engine }: ReplayContext,
  { kind, address }: TargetAddress,
  work: (target: Target) => Promise<Result>,
): Promise<Result> {
  const extensions = extensionsOf(kind, address);
  const type = kind === "postgres" ? ({ type: "postgres" } as const) : {};
  try {
    await engine.attachOther(session, { address, name: TARGET_NAME, extensions, ...type });
  } catch (error) {
    throw unreachable(error);
  }
  try {
    if (kind === "ducklake") await reachFiles(session, engine);
    return await work(kind === "postgres" ? postgresTarget(session) : duckdbTarget(session, kind));
  } finally {
    await session.despiteAbort(() => session.run(`DETACH ${quoteIdentifier(TARGET_NAME)}`));
  }
}

function extensionsOf(kind: TargetAddress["kind"], address: string) {
  if (kind === "postgres") return ["postgres_scanner"] as const;
  return kind === "ducklake" ? catalogExtensions(address.replace(/^ducklake:/i, "")) : [];
}

/** Another lake's files may be in the object storage that this project has keys for. */
async function reachFiles(session: Session, engine: Engine): Promise<void> {
  if ((await dataPathOf(session, TARGET_NAME))?.startsWith("s3://") === true) await engine.reachStorage(session, "s3");
}

function unreachable(error: unknown): unknown {
  if (!(error instanceof IvmError)) return error;
  // What the engine's errors say besides is of the lake's own catalog and files.
  const why = error.cause instanceof Error ? error.cause.message : error.message;
  if (error instanceof ConflictError) {
    return new ConflictError("replay_target_locked", `The target is in use by another process. ${why}`, {
      hint: "Run the same command again when that one has ended.",
      cause: error,
    });
  }
  if (error.code === "extension_unavailable") return error;
  return new LakeError("replay_target_unreachable", `The target can't be opened. ${why}`, {
    hint: "Check the target's address, and that its file or server can be reached.",
    cause: error,
  });
}

interface Request extends TargetTable {
  readonly log: string;
  readonly reset?: boolean;
  readonly notify: Notify<ReplayEvent>;
}

type Applied = Pick<ReplayResult, "status" | "took" | "reason" | "created" | "from" | "to" | "rows"> & {
  readonly epoch: string;
};

/** What happens in the target's transaction. The position is read before the log, which is thus never behind it. */
async function apply({ session, root }: ReplayContext, target: Target, request: Request): Promise<Applied> {
  const { schema, table } = request;
  const before = await readPosition(target, schema, table);
  const state = await requireLogState(session, root, request.log);
  const lake = await root.lakeId(session);
  const { read, reason } = await decide(target, request, state, lake, before);
  const common = { reason, created: request.columns === null, from: read.from, to: read.to, epoch: state.epoch };
  if (read.from === read.to) {
    return { ...common, status: "unchanged", took: null, rows: { inserted: 0n, deleted: 0n } };
  }
  const took = read.from === null ? "state" : "changes";
  request.notify({ kind: "applying", view: state.log, took, from: read.from, to: read.to });
  const columns = await target.mirror(state.schema.columns);
  checkColumns(target, request, columns);
  const after = { lake, view: state.log, epoch: state.epoch, position: read.to };
  await movePosition(target, schema, table, before, after);
  const rows = await write(root, target, request, state, read, columns);
  return { ...common, status: "applied", took, rows };
}

/** The changes since the mirror's position, or the whole state with why. */
async function decide(
  target: Target,
  request: Request,
  state: LogState,
  lake: string,
  before: Position | undefined,
): Promise<{ readonly read: LogRead; readonly reason: Reason | null }> {
  const whole = (code: string, text: string) => ({ read: stateAt(state, undefined), reason: { code, text } });
  const { schema, table, columns, log } = request;
  if (columns === null) return whole("replay_new", "the table did not exist");
  if (request.reset === true) return whole("replay_reset", "it was asked for");
  if (before === undefined) {
    const rows = await target.rows(`SELECT 1 AS one FROM ${target.path(schema, table)} LIMIT 1`);
    if (rows.length === 0) return whole("replay_new", "the table was empty");
    throw foreign(request, "it holds rows that no replay has written");
  }
  if (before.lake !== lake || before.view !== log) {
    throw foreign(request, `it mirrors ${before.lake === lake ? `the view ${before.view}` : "a view of another lake"}`);
  }
  if (before.epoch !== state.epoch) return whole("replay_epoch", "the view's log began anew");
  if (!positionsOf(state).includes(before.position)) {
    return whole("replay_lost", `the log no longer goes back to ${before.position}`);
  }
  return { read: changesBetween(state, before.position, undefined), reason: null };
}

function foreign({ schema, table, log }: Request, why: string): ConfigError {
  const shown = `${schema}.${table}`;
  return new ConfigError("replay_foreign", `${shown} is no mirror of ${log}: ${why}.`, {
    subject: { view: log, table: shown },
    hint: "Name another table, or give --reset, which makes it hold the view's rows and nothing else.",
  });
}

function checkColumns(target: Target, { schema, table, columns, log }: Request, wanted: readonly MirrorColumn[]): void {
  if (columns === null) return;
  const sameCase = (name: string): string => (target.kind === "postgres" ? name : name.toLowerCase());
  const present = new Map(columns.map(({ name, type }) => [sameCase(name), type]));
  const names = new Set(wanted.map(({ name }) => sameCase(name)));
  const problems = [
    ...wanted.flatMap(({ name, type }) => {
      const found = present.get(sameCase(name));
      if (found === undefined) return [`${name} (${type}) is missing`];
      return found === type ? [] : [`${name} is ${found} and should be ${type}`];
    }),
    ...columns.filter(({ name }) => !names.has(sameCase(name))).map(({ name }) => `${name} is none of the view's`),
  ];
  if (problems.length === 0) return;
  const shown = `${schema}.${table}`;
  throw new ConfigError("replay_columns", `${shown} has other columns than ${log}: ${problems.join("; ")}.`, {
    subject: { view: log, table: shown },
    hint: "Alter the table, or drop it: the next replay then makes it anew.",
  });
}

async function write(
  root: LogRoot,
  target: Target,
  { schema, table, columns: present }: Request,
  state: LogState,
  read: LogRead,
  columns: readonly MirrorColumn[],
): Promise<AppliedRows> {
  const as = read.from === null ? "state" : "changes";
  const weight = state.schema.weight;
  const weightColumn = as === "changes" ? [{ name: weight, wire: "BIGINT", write: quoteIdentifier(weight) }] : [];
  const sent = [...columns, ...weightColumn];
  const values = sent.map((column) => `${column.write} AS ${quoteIdentifier(column.name)}`);
  const rows = decodedRows(root.store, state.schema, read.entries, [], as);
  const path = target.path(schema, table);
  const key = columns.filter(({ name }) => state.schema.key.includes(name));
  try {
    if (present === null) await create(target, path, columns, key);
    const staged = await target.stage(schema, sent, `SELECT ${values.join(", ")} FROM (${rows})`);
    const work: MirrorWork = { target, shown: `${schema}.${table}`, path, columns, key, staged };
    const applied = await (present === null
      ? fill(work)
      : as === "state"
        ? applyState(work)
        : applyChanges(work, weight));
    await target.unstage(schema);
    return applied;
  } catch (error) {
    throw refused(state.log, `${schema}.${table}`, error);
  }
}

async function create(
  target: Target,
  path: string,
  columns: readonly MirrorColumn[],
  key: readonly MirrorColumn[],
): Promise<void> {
  const list = columns.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`);
  await target.run(`CREATE TABLE ${path} (${list.join(", ")})`);
  await target.index(
    path,
    key.map(({ name }) => name),
  );
}

function refused(view: string, shown: string, error: unknown): unknown {
  if (!(error instanceof IvmError) || error.code !== "engine_error") return error;
  return new LakeError("replay_refused", `${shown} can't take the rows of ${view}. ${error.message}`, {
    subject: { view, table: shown },
    hint: "Where a value is too large for the target's type, cast the column in the view's definition.",
    cause: error,
  });
}

/**
 * Moves the consumer's cursor after the mirror, so that it holds back the windows that the mirror has not seen. The
 * mirror's own position is what counts: a cursor that stays behind costs nothing but space.
 */
async function follow(
  { session, root }: ReplayContext,
  { name }: Consumer,
  epoch: string,
  to: bigint,
): Promise<boolean> {
  const consumer = await requireConsumer(session, root, name);
  const state = await requireLogState(session, root, consumer.log);
  if (state.epoch !== epoch || !positionsOf(state).includes(to)) return false;
  if (consumer.epoch === epoch && consumer.position !== null && consumer.position >= to) return false;
  try {
    return await commitConsumer(session, root, name, to, consumer.position);
  } catch (error) {
    if (error instanceof IvmError && error.code === "consumer_moved") return false;
    throw error;
  }
}
