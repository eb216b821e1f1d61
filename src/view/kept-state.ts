import { ChangeHistory } from "../catalog/change-history.js";
import { currentTableIds } from "../catalog/tables.js";
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import type { Cursor, Progress, State } from "./state.js";

/** Where a commit of this process left a view. */
export interface Move {
  readonly progress: Progress;
  readonly cursors: readonly Omit<Cursor, "view">[];
}

/** The tables that `State` is read from besides that of the progress. Of all refreshes only a view's first one writes to them. */
const DEFINING_TABLES = ["layout", "views"];

interface Kept {
  readonly snapshot: bigint;
  readonly state: State;
  readonly history: ChangeHistory;
}

/**
 * Definitions, progress and the lake's history as runs of this process have read them, so that the next run reads only
 * what came since. The history tells which commits wrote to the tables of the state; where all of them are refreshes of
 * this process, what they wrote is known here, and in any other case the tables are read again.
 *
 * Whoever reads is in a transaction that is pinned at the snapshot it asks for.
 */
export class KeptState {
  private kept: Kept | undefined;
  /** The ids of the tables by name. */
  private tables: ReadonlyMap<string, bigint> | undefined;
  /** By the id that the commit carries. */
  private readonly moves = new Map<string, Move>();

  constructor(private readonly engine: Engine) {}

  /** The catalog is another one, or was restored. */
  forget(): void {
    this.kept = undefined;
    this.tables = undefined;
    this.moves.clear();
  }

  /** Takes note of a refresh that was committed, up to the next time that the state is asked for. */
  noteMove(commit: string, move: Move): void {
    if (this.kept !== undefined) this.moves.set(commit, move);
  }

  /** The state at a snapshot; `read` reads it from the tables. */
  async state(session: Session, snapshot: bigint, read: () => Promise<State>): Promise<State> {
    const followed = await this.follow(session, snapshot);
    const state = followed ?? (await read());
    if (this.kept !== undefined && this.kept.snapshot >= snapshot) return state;
    this.kept = { snapshot, state, history: this.kept?.history ?? ChangeHistory.after(snapshot) };
    // Commits that another session of the same run makes meanwhile are read from the tables then.
    this.moves.clear();
    return state;
  }

  /** The changes of the snapshots in `[from, to]`. */
  async history(session: Session, from: bigint, to: bigint): Promise<ChangeHistory> {
    const known = this.kept?.history.covers(from) === true ? this.kept.history : undefined;
    await known?.extend(session, to);
    const history = (await known?.since(session, this.engine, from)) ?? (await ChangeHistory.read(session, from, to));
    if (this.kept?.snapshot === to) this.kept = { ...this.kept, history };
    return history;
  }

  /** What is kept, brought to a snapshot by the commits since; undefined where that can't be told. */
  private async follow(session: Session, snapshot: bigint): Promise<State | undefined> {
    const { kept } = this;
    if (kept === undefined || kept.snapshot > snapshot) return undefined;
    if (kept.snapshot === snapshot) return kept.state;
    const { history } = kept;
    await history.extend(session, snapshot);
    const window = history.window(kept.snapshot, snapshot);
    if (window.incomplete || window.tablesChanged) {
      // The tables may be others now.
      this.tables = undefined;
      return undefined;
    }
    const { stateSchema } = this.engine;
    this.tables ??= await currentTableIds(session, this.engine, stateSchema, [...DEFINING_TABLES, "progress"]);
    const idsOf = (names: readonly string[]): Set<bigint> =>
      new Set(names.flatMap((name) => this.tables?.get(name) ?? []));
    if (history.firstChange(kept.snapshot, idsOf(DEFINING_TABLES)) !== undefined) return undefined;
    let { state } = kept;
    for (const commit of history.commitsTo(idsOf(["progress"]), kept.snapshot)) {
      const move = this.moves.get(commit ?? "");
      if (move === undefined) return undefined;
      state = moved(state, move);
    }
    return state;
  }
}

function moved(state: State, { progress, cursors }: Move): State {
  const { view } = progress;
  return {
    ...state,
    progress: new Map([...state.progress, [view, progress]]),
    cursors: [
      ...state.cursors.filter((cursor) => cursor.view !== view),
      ...cursors.map((cursor) => ({ view, ...cursor })),
    ],
  };
}
