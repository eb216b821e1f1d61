import { randomUUID } from "node:crypto";
import { notifier } from "../engine/notify.js";
import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { sameName } from "../sql/quote.js";
import { didYouMean } from "../suggest.js";
import type {
  CompactedLog,
  CompactOptions,
  CompactResult,
  ConsumerStatus,
  LogOptions,
  SweepOptions,
  SweepResult,
} from "../types.js";
import { compactLog } from "./compact.js";
import {
  type Consumer,
  consumerChanges,
  lagOf,
  listConsumers,
  requireAnswerable,
  requireConsumer,
} from "./consumers.js";
import { publishManifest } from "./manifest.js";
import { sourceOfLog } from "./names.js";
import type { KeyFilter } from "./read.js";
import { type LogState, readLogs } from "./registry.js";
import type { LogRoot } from "./root.js";
import { LogRows } from "./rows.js";
import { sweepAll } from "./sweep.js";
import { changesBetween, type LogRead, stateAt } from "./window.js";

/** Opens rows of a log: what `Lake.changes` and `Lake.state` do on a connection of their own. */
export async function openRows(
  session: Session,
  root: LogRoot,
  view: string | undefined,
  what: "changes" | "state",
  options: LogOptions,
): Promise<LogRows> {
  const consumer = options.consumer === undefined ? undefined : await requireConsumer(session, root, options.consumer);
  const state =
    consumer === undefined
      ? await findLog(session, root, view ?? "")
      : await consumerLog(session, root, view, consumer);
  for (const asked of [options.since, options.until, options.at]) await requireAnswerable(session, state, asked);
  const source = sourceOfLog(state.log);
  if (what === "state" && source !== undefined) {
    throw new ConfigError("log_of_source", `${state.log} is the log of a base table, which holds changes only.`, {
      subject: { table: source },
      hint: "Read the table itself with AT (VERSION => n).",
    });
  }
  const read = what === "state" ? stateAt(state, options.at) : changesOf(state, options, consumer);
  return LogRows.open(session, root, state, read, (options.keys ?? []).map(asText));
}

/** The log that a consumer reads. @throws ConfigError `consumer_of_other` where a view is named and it is another one. */
export async function consumerLog(
  session: Session,
  root: LogRoot,
  view: string | undefined,
  consumer: Consumer,
): Promise<LogState> {
  const state = await findLog(session, root, view ?? consumer.log);
  if (consumer.log === state.log) return state;
  throw new ConfigError(
    "consumer_of_other",
    `Consumer ${consumer.name} reads the log of ${consumer.log}, not of ${state.log}.`,
    {
      subject: { view: state.log },
      hint: "Name the consumer alone, or its own view.",
    },
  );
}

function changesOf(state: LogState, { since, until }: LogOptions, consumer: Consumer | undefined): LogRead {
  if ((since === undefined) === (consumer === undefined)) {
    throw new ConfigError("since_or_consumer", "Changes are asked for since a snapshot or for a consumer.", {
      hint: "Give one of the two: since, or the name of a consumer.",
    });
  }
  return consumer === undefined ? changesBetween(state, since ?? 0n, until) : consumerChanges(consumer, state, until);
}

function asText(key: NonNullable<LogOptions["keys"]>[number]): KeyFilter {
  return Object.fromEntries(Object.entries(key).map(([name, value]) => [name, value === null ? null : String(value)]));
}

/** A view's log: names compare without case. @throws ConfigError `log_unknown`. */
export async function findLog(session: Session, root: LogRoot, view: string): Promise<LogState> {
  const logs = await readLogs(session, root.tables);
  const found = [...logs.values()].find(({ log }) => sameName(log, view));
  if (found !== undefined) return found;
  const names = [...logs.keys()];
  throw new ConfigError("log_unknown", `View ${view} has no change log.`, {
    subject: { view },
    hint:
      names.length === 0 ? "A log begins with the view's next refresh." : didYouMean(view, names, "Views with logs"),
  });
}

/** Compacts logs, publishes their manifests, and removes files that were retired long enough ago. */
export async function compact(session: Session, root: LogRoot, options: CompactOptions): Promise<CompactResult> {
  const runId = randomUUID();
  const notify = notifier(options);
  const chosen: string[] = [];
  for (const view of options.views ?? []) chosen.push((await findLog(session, root, view)).log);
  const logs = [...(await readLogs(session, root.tables, options.views === undefined ? undefined : chosen)).keys()];
  const results: CompactedLog[] = [];
  for (const [index, log] of logs.entries()) {
    const position = { number: index + 1, of: logs.length };
    results.push(await compactLog(session, root, runId, log, { thorough: true, notify, position }));
  }
  for (const log of logs) await publishManifest(session, root, log);
  const swept = await sweepAll(session, root, { dryRun: false });
  return { runId, logs: results, swept };
}

export function sweep(session: Session, root: LogRoot, options: SweepOptions): Promise<SweepResult> {
  return sweepAll(session, root, { dryRun: options.dryRun === true });
}

export async function consumerStatus(session: Session, root: LogRoot): Promise<ConsumerStatus[]> {
  const states = await readLogs(session, root.tables);
  const consumers = await listConsumers(session, root);
  return consumers.flatMap((consumer) => {
    const state = states.get(consumer.log);
    return state === undefined ? [] : [lagOf(consumer, state, root.maxLag, new Date())];
  });
}
