import type { Retention } from "../types.js";
import type { LogEntry, LogState } from "./registry.js";

/** What a compaction does: windows that become one, or all up to a position that become a new base. */
export type CompactionStep =
  | { readonly kind: "merge"; readonly entries: readonly LogEntry[]; readonly level: number }
  | { readonly kind: "fold"; readonly entries: readonly LogEntry[]; readonly at: bigint };

export interface CompactionPolicy {
  /** How many windows of one level become one of the next. */
  readonly fanOut: number;
  /** How long windows stay apart from the base. */
  readonly keep: Retention;
  /** Positions that must stay as they are: those of consumers. */
  readonly held: readonly bigint[];
  readonly now: Date;
  /** Fold all that is old enough, also where the base is too large to rewrite it for so little. */
  readonly thorough: boolean;
}

/**
 * The next step, or undefined where the log is in order. A level holds up to twice the fan-out, then its oldest
 * windows become one of the next level, so the newest ones stay apart and a reader opens only a logarithmic number.
 */
export function nextStep(state: LogState, policy: CompactionPolicy): CompactionStep | undefined {
  return fold(state, policy) ?? merge(state, policy);
}

function fold(state: LogState, policy: CompactionPolicy): CompactionStep | undefined {
  const segments = state.entries.filter((entry) => entry.kind === "segment");
  const bases = state.entries.filter((entry) => entry.kind === "base");
  const limit = lowest(policy.held);
  const old = segments.filter(
    (entry) => isOlder(entry, state.end, policy) && (limit === undefined || entry.to <= limit),
  );
  const at = old.at(-1)?.to;
  if (at === undefined) return undefined;
  const folded = segments.filter((entry) => entry.to <= at);
  const changed = sum(folded.map((entry) => entry.rows));
  const standing = sum(bases.map((entry) => entry.rows));
  if (!policy.thorough && changed * BigInt(policy.fanOut) < standing) return undefined;
  return { kind: "fold", entries: [...bases.filter((entry) => entry.to <= at), ...folded], at };
}

function isOlder(entry: LogEntry, end: bigint, { keep, now }: CompactionPolicy): boolean {
  if ("snapshots" in keep) return entry.to <= end - keep.snapshots;
  return Date.parse(entry.createdAt) <= now.getTime() - keep.milliseconds;
}

function merge(state: LogState, policy: CompactionPolicy): CompactionStep | undefined {
  const segments = state.entries.filter((entry) => entry.kind === "segment");
  const levels = [...new Set(segments.map((entry) => entry.level))].sort((a, b) => a - b);
  for (const level of levels) {
    const crowded = segments.filter((entry) => entry.level === level).length >= 2 * policy.fanOut;
    if (!crowded) continue;
    for (const run of runsOf(segments, level, policy.held)) {
      if (run.length >= 2) return { kind: "merge", entries: run.slice(0, policy.fanOut), level: level + 1 };
    }
  }
  return undefined;
}

/** Neighbouring windows of a level or lower ones that no held position lies between, the oldest first. */
function runsOf(segments: readonly LogEntry[], level: number, held: readonly bigint[]): LogEntry[][] {
  const runs: LogEntry[][] = [];
  let last: LogEntry | undefined;
  for (const entry of segments) {
    const joins = last !== undefined && last.level <= level && last.to === entry.from && !held.includes(last.to);
    if (entry.level <= level) {
      if (joins) runs.at(-1)?.push(entry);
      else runs.push([entry]);
    }
    last = entry;
  }
  return runs;
}

function lowest(positions: readonly bigint[]): bigint | undefined {
  return positions.reduce<bigint | undefined>(
    (least, position) => (least === undefined || position < least ? position : least),
    undefined,
  );
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
