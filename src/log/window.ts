import { LakeError } from "../errors.js";
import type { LogEntry, LogState } from "./registry.js";

/**
 * Which files answer a question. Positions of a log are snapshots that the view was brought to. A snapshot between
 * two of them means the earlier one, at which the view stood then; where a merge has made one window of several, the
 * positions inside it are gone.
 */
export interface LogRead {
  /** The position that the answer begins at; null where it is the whole state. */
  readonly from: bigint | null;
  readonly to: bigint;
  readonly entries: readonly LogEntry[];
}

/**
 * The changes from one position to another.
 * @throws LakeError `log_position_lost` where the log no longer tells them apart, `log_window_empty` for an order that
 * is the wrong way round.
 */
export function changesBetween(state: LogState, since: bigint, until: bigint | undefined): LogRead {
  const from = positionAt(state, since);
  const to = until === undefined ? state.end : positionAt(state, until);
  if (to < from) {
    throw new LakeError(
      "log_window_empty",
      `The log of ${state.log}: the window from ${since} to ${until} ends before it begins.`,
      {
        subject: { view: state.log },
        hint: "Give the older snapshot as the beginning.",
      },
    );
  }
  const entries = segmentsOf(state).filter((entry) => (entry.from ?? 0n) >= from && entry.to <= to);
  return { from, to, entries };
}

/** The whole state at a position. @throws LakeError `log_position_lost`. */
export function stateAt(state: LogState, at: bigint | undefined): LogRead {
  const to = at === undefined ? state.end : positionAt(state, at);
  const base = basePositions(state)
    .filter((position) => position <= to)
    .at(-1);
  if (base === undefined) throw positionLost(state, at ?? to);
  const files = state.entries.filter((entry) => entry.kind === "base" && entry.to === base);
  const { entries } = changesBetween(state, base, to);
  return { from: null, to, entries: [...files, ...entries] };
}

/** Positions that the log can answer for, ascending. */
export function positionsOf(state: LogState): readonly bigint[] {
  const positions = [...basePositions(state), ...segmentsOf(state).map((entry) => entry.to)];
  return [...new Set(positions)].sort((a, b) => (a < b ? -1 : 1));
}

/** The position that stands for a snapshot. @throws LakeError `log_position_lost`. */
export function positionAt(state: LogState, snapshot: bigint): bigint {
  const position = positionsOf(state)
    .filter((candidate) => candidate <= snapshot)
    .at(-1);
  const merged = segmentsOf(state).some(
    (entry) => entry.level > 0 && (entry.from ?? 0n) < snapshot && snapshot < entry.to,
  );
  if (position === undefined || merged) throw positionLost(state, snapshot);
  return position;
}

function basePositions(state: LogState): bigint[] {
  return state.entries.filter((entry) => entry.kind === "base").map((entry) => entry.to);
}

function segmentsOf(state: LogState): readonly LogEntry[] {
  return state.entries.filter((entry) => entry.kind === "segment");
}

/** The code of a position that a log can't answer for; consumers are told to take the whole state. */
export const POSITION_LOST = "log_position_lost";

function positionLost(state: LogState, snapshot: bigint): LakeError {
  const [oldest] = positionsOf(state);
  return new LakeError(
    POSITION_LOST,
    `The log of ${state.log} no longer tells what changed at snapshot ${snapshot}; it goes back to ${oldest ?? "no snapshot"}.`,
    {
      subject: { view: state.log, snapshot },
      hint: `Take the whole state with \`state ${state.log}\` and go on from its position.`,
    },
  );
}
