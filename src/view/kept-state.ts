import { ChangeHistory } from "../catalog/snapshots.js";
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { quoteLiteral } from "../sql/quote.js";
import type { Cursor, Progress, State } from "./state.js";

/** Where a commit of this process left a view. */
export interface Move {
  readonly progress: Progress;
  readonly cursors: readonly Omit<Cursor, "view">[];
}

/** Keeping more commits than this is no use: reading the tables again costs less than going through them. */
const MOST_KEPT = 10_000;

/** The ids of the tables that `State` is read from. */
interface StateTableIds {
  readonly progress: bigint;
  /** Those that refreshes do not write to, but for the first one of a view. */
  readonly others: ReadonlySet<bigint>;
}

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
  private tables: StateTableIds | undefined;
  /** By the id that the commit carries. */
  private readonly moves = new Map<string, Move>();

  constructor(
    private readonly engine: Engine,
    private readonly schema: string,
  ) {}

  /** The catalog is another one, or was restored. */
  forget(): void {
    this.kept = undefined;
    this.tables = undefined;
    this.moves.clear();
  }

  /** Takes note of a refresh that was committed. */
  noteMove(commit: string, move: Move): void {
    if (this.moves.size >= MOST_KEPT) this.moves.clear();
    this.moves.set(commit, move);
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
    if (window.incomplete || window.tablesChanged) return undefined;
    this.tables ??= await this.tableIds(session);
    if (this.tables === undefined) return undefined;
    const { progress, others } = this.tables;
    if (history.firstChange(kept.snapshot, others) !== undefined) return undefined;
    let { state } = kept;
    for (const commit of history.commitsTo(progress, kept.snapshot)) {
      const move = this.moves.get(commit ?? "");
      if (move === undefined) return undefined;
      state = moved(state, move);
    }
    return state;
  }

  private async tableIds(session: Session): Promise<StateTableIds | undefined> {
    const metadata = (name: string): string => this.engine.metadataTable(name);
    const rows = await session.rows<{ id: bigint; name: string }>(
      `SELECT t.table_id AS id, t.table_name AS name FROM ${metadata("ducklake_table")} t JOIN ${metadata("ducklake_schema")} s ON s.schema_id = t.schema_id
       WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND s.schema_name = ${quoteLiteral(this.schema)}
         AND t.table_name IN ('layout', 'views', 'progress')`,
    );
    const progress = rows.find(({ name }) => name === "progress")?.id;
    if (progress === undefined) return undefined;
    return { progress, others: new Set(rows.flatMap(({ id, name }) => (name === "progress" ? [] : [id]))) };
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
