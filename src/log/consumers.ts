import { requireReached } from "../catalog/snapshots.js";
import type { Session } from "../engine/session.js";
import { ConfigError, ConflictError, LakeError } from "../errors.js";
import { didYouMean } from "../suggest.js";
import type { ConsumerStatus, Retention } from "../types.js";
import { sourceOfLog } from "./names.js";
import type { LogEntry, LogState } from "./registry.js";
import { readLog } from "./registry.js";
import type { LogRoot } from "./root.js";
import { changesBetween, type LogRead, POSITION_LOST, positionAt, positionsOf } from "./window.js";

/** A registered reader of one log. */
export interface Consumer {
  readonly name: string;
  readonly log: string;
  /** The epoch that the position is in; null before the first commit. */
  readonly epoch: string | null;
  /** Up to where it has consumed; null before it has taken the state. */
  readonly position: bigint | null;
  readonly moves: bigint;
}

/** The code of an answer that asks the consumer to take the whole state first. */
const CONSUMER_RESET = "consumer_reset";

export async function listConsumers(session: Session, root: LogRoot): Promise<Consumer[]> {
  return session.rows<Consumer>(
    `SELECT name, log, epoch, "position", moves FROM ${root.tables.table("consumers")} ORDER BY name`,
  );
}

/** @throws ConfigError `consumer_unknown`. */
export async function requireConsumer(session: Session, root: LogRoot, name: string): Promise<Consumer> {
  const consumers = await listConsumers(session, root);
  const found = consumers.find((consumer) => consumer.name === name);
  if (found !== undefined) return found;
  throw new ConfigError("consumer_unknown", `No consumer is named ${name}.`, {
    hint:
      consumers.length === 0
        ? "Register it with `consumer add`."
        : didYouMean(
            name,
            consumers.map((consumer) => consumer.name),
            "Registered",
          ),
  });
}

/**
 * Refuses a snapshot that is still to come: what the log says of it would not stay true. One that exists and lies beyond
 * the log's end means the end, up to which the view was refreshed.
 * @throws LakeError `snapshot_missing`.
 */
export async function requireAnswerable(
  session: Session,
  { end }: LogState,
  snapshot: bigint | undefined,
): Promise<void> {
  if (snapshot !== undefined && snapshot > end) await requireReached(session, snapshot);
}

/** Registers a consumer, at a position of the log or, without one, before its first state. */
export async function addConsumer(
  session: Session,
  root: LogRoot,
  name: string,
  log: string,
  at: bigint | "end" | undefined,
): Promise<Consumer> {
  const { tables } = root;
  if (name.trim() === "") {
    throw new ConfigError("consumer_name", "A consumer's name can't be empty or blank.", {
      hint: "Name it after what reads the log, such as search.",
    });
  }
  return session.transaction(async () => {
    const state = await requireLogState(session, root, log);
    if (at !== "end") await requireAnswerable(session, state, at);
    const position = at === undefined ? null : at === "end" ? state.end : positionAt(state, at);
    // Rows that every registration updates: of two with one name, or one and a compaction, one gets a conflict.
    await session.run(`UPDATE ${tables.table("identity")} SET lake = lake`);
    await session.run(`UPDATE ${tables.table("logs")} SET generation = generation WHERE log = $1`, [state.log]);
    const taken = (await listConsumers(session, root)).find((consumer) => consumer.name === name);
    if (taken !== undefined) {
      throw new ConfigError("consumer_exists", `A consumer named ${name} reads the log of ${taken.log} already.`, {
        hint: "Choose another name, or remove that one with `consumer remove`.",
      });
    }
    const consumer = { name, log: state.log, epoch: position === null ? null : state.epoch, position, moves: 0n };
    await session.run(
      `INSERT INTO ${tables.table("consumers")} (name, log, epoch, "position", moves, updated_at) VALUES ($1, $2, $3, $4, 0, now())`,
      [name, consumer.log, consumer.epoch, position],
    );
    await tables.commitMessage(session, `add consumer ${name}`, { consumer: name, log: consumer.log });
    return consumer;
  });
}

export async function removeConsumer(session: Session, root: LogRoot, name: string): Promise<void> {
  const consumer = await requireConsumer(session, root, name);
  await session.transaction(async () => {
    await session.run(`DELETE FROM ${root.tables.table("consumers")} WHERE name = $1`, [consumer.name]);
    await root.tables.commitMessage(session, `remove consumer ${name}`, { consumer: name });
  });
}

/**
 * The consumer's next changes.
 * @throws LakeError `consumer_reset` where it has taken no state yet, the view's columns changed, or the log no longer
 * goes back to its position.
 */
export function consumerChanges(consumer: Consumer, state: LogState, until?: bigint): LogRead {
  const { position } = consumer;
  if (position === null) throw reset(consumer, "it has not taken the state yet");
  if (consumer.epoch !== state.epoch) throw reset(consumer, "the view's columns changed since");
  if (!positionsOf(state).includes(position)) throw reset(consumer, `the log no longer goes back to ${position}`);
  return changesBetween(state, position, until);
}

function reset(consumer: Consumer, why: string): LakeError {
  return new LakeError(
    CONSUMER_RESET,
    `Consumer ${consumer.name} must take the whole state of ${consumer.log}: ${why}.`,
    {
      subject: { view: consumer.log },
      hint: `Read \`state ${consumer.log} --consumer ${consumer.name}\`, then commit the position that it tells.`,
    },
  );
}

/**
 * Moves a consumer on. At-least-once: what was read and not committed is read again.
 * @param from the position that the caller read from; another one now means that somebody else moved the consumer.
 * @returns whether it moved; false where it stood there already.
 * @throws ConflictError `consumer_moved`; ConfigError `consumer_ahead` for a position that it has left behind; LakeError
 * `log_position_lost` for one that the log does not have.
 */
export async function commitConsumer(
  session: Session,
  root: LogRoot,
  name: string,
  to: bigint,
  from?: bigint | null,
): Promise<boolean> {
  const { tables } = root;
  return session.transaction(async () => {
    const consumer = await requireConsumer(session, root, name);
    const state = await requireLogState(session, root, consumer.log);
    if (from !== undefined && from !== consumer.position) throw consumerMoved(consumer, from);
    const sameEpoch = consumer.epoch === state.epoch;
    if (sameEpoch && consumer.position === to) return false;
    if (sameEpoch && consumer.position !== null && to < consumer.position) throw consumerAhead(consumer, to);
    if (!positionsOf(state).includes(to)) positionLost(state, to);
    // The row is updated in place: of two processes that move one consumer, one gets a conflict.
    const moved = await session.change(
      `UPDATE ${tables.table("consumers")} SET "position" = $1, epoch = $2, moves = moves + 1, updated_at = now() WHERE name = $3 AND moves = $4`,
      [to, state.epoch, name, consumer.moves],
    );
    if (moved !== 1n) throw consumerMoved(consumer, from ?? null);
    await tables.commitMessage(session, `move consumer ${name} to ${to}`, { consumer: name, to });
    return true;
  });
}

function positionLost(state: LogState, to: bigint): never {
  throw new LakeError(POSITION_LOST, `The log of ${state.log} has no position ${to}.`, {
    subject: { view: state.log, snapshot: to },
    hint: `Commit the position that \`changes\` or \`state\` told; the log stands at ${state.end}.`,
  });
}

/** Nothing to repeat: the same call can never succeed. */
function consumerAhead({ name, log, position }: Consumer, to: bigint): ConfigError {
  return new ConfigError("consumer_ahead", `Consumer ${name} stands at ${position} and can't go back to ${to}.`, {
    subject: { view: log, snapshot: to },
    hint: `Commit a later position. To read again from ${to}, use \`changes ${log} --since ${to}\`, or register another consumer with \`--at ${to}\`.`,
  });
}

function consumerMoved(consumer: Consumer, from: bigint | null): ConflictError {
  return new ConflictError(
    "consumer_moved",
    `Consumer ${consumer.name} stands at ${consumer.position ?? "no position"}, not at ${from ?? "no position"}: another process moved it.`,
    { subject: { view: consumer.log }, hint: "Read its changes again; one process a consumer is best." },
  );
}

/** @throws ConfigError `log_unknown`. */
export async function requireLogState(session: Session, root: LogRoot, log: string): Promise<LogState> {
  const state = await readLog(session, root.tables, log);
  if (state !== undefined) return state;
  throw new ConfigError("log_unknown", `View ${log} has no change log.`, {
    subject: { view: log },
    hint: "A log begins with the view's next refresh.",
  });
}

export function lagOf(consumer: Consumer, state: LogState, maxLag: Retention, now: Date): ConsumerStatus {
  const { name, log: view, epoch, position } = consumer;
  const common = { name, view, position, end: state.end };
  const next = epoch !== state.epoch || position === null ? undefined : pending(state, position);
  if (next === undefined || position === null)
    return { ...common, windows: null, rows: null, lagMs: null, held: false, reset: true };
  const [first] = next;
  return {
    ...common,
    windows: next.length,
    rows: next.reduce((sum, entry) => sum + entry.rows, 0n),
    lagMs: first === undefined ? null : Math.max(0, now.getTime() - Date.parse(first.createdAt)),
    held: isHeld(position, state, next, maxLag, now),
    reset: false,
  };
}

/** The windows after a position; undefined where the log does not have it. */
function pending(state: LogState, position: bigint): readonly LogEntry[] | undefined {
  if (!positionsOf(state).includes(position)) return undefined;
  return changesBetween(state, position, undefined).entries;
}

function isHeld(position: bigint, state: LogState, next: readonly LogEntry[], maxLag: Retention, now: Date): boolean {
  const [first] = next;
  if (first === undefined) return true;
  if ("snapshots" in maxLag) return state.end - position <= maxLag.snapshots;
  return now.getTime() - Date.parse(first.createdAt) <= maxLag.milliseconds;
}

/**
 * Positions that compaction must leave as they are: those of consumers that do not lag too far behind, and in the log
 * of a base table the cursors of the views that read it.
 */
export async function heldPositions(session: Session, root: LogRoot, state: LogState): Promise<bigint[]> {
  const source = sourceOfLog(state.log);
  const positions =
    source === undefined ? await consumerPositions(session, root, state) : await cursorsOn(session, root, source);
  const now = new Date();
  return positions.filter((position) => {
    const next = pending(state, position);
    return next !== undefined && isHeld(position, state, next, root.maxLag, now);
  });
}

async function consumerPositions(session: Session, root: LogRoot, { log, epoch }: LogState): Promise<bigint[]> {
  const consumers = await listConsumers(session, root);
  return consumers
    .filter((consumer) => consumer.log === log && consumer.epoch === epoch)
    .flatMap(({ position }) => (position === null ? [] : [position]));
}

async function cursorsOn(session: Session, root: LogRoot, source: string): Promise<bigint[]> {
  const cursors = await session.rows<{ position: bigint }>(
    `SELECT DISTINCT CAST(json_extract_string("cursor", '$.snapshot') AS BIGINT) AS "position"
     FROM (SELECT unnest(from_json(cursors, '["JSON"]')) AS "cursor" FROM ${root.tables.table("progress")})
     WHERE json_extract_string("cursor", '$.source') = $1`,
    [source],
  );
  return cursors.map((cursor) => cursor.position);
}
