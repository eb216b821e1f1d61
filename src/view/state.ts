import { AUTHOR } from "../catalog/change-history.js";
import { currentTableIds } from "../catalog/tables.js";
import { type Engine, LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { LakeError } from "../errors.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../sql/quote.js";
import type { StoredDefinition } from "./definition.js";
import { KeptState } from "./kept-state.js";
import type { Layout } from "./layout.js";
import { cursorsOfLayout1, LAYOUT_VERSION, migrate } from "./migrations.js";

/** What stands in the lake for a view now; null before its first refresh. */
export interface BuiltView {
  readonly fingerprint: string;
  readonly layout: Layout;
  /** The physical table's name in the state schema. */
  readonly table: string;
}

export interface StoredView {
  readonly name: string;
  /** What was applied last and is refreshed from now on. */
  readonly definition: StoredDefinition;
  readonly built: BuiltView | null;
}

/** How far a view has consumed one source. */
export interface Cursor {
  readonly view: string;
  readonly source: string;
  readonly snapshot: bigint;
  readonly tableId: bigint;
  /** Tells a table from one that took its name later. */
  readonly tableUuid: string;
}

/** The progress of a view: one row a view guards against two runs that move it at once. */
export interface Progress {
  readonly view: string;
  readonly horizon: bigint | null;
  readonly runId: string | null;
  /** The time that the view's content was made for, as text with a time zone; it is its horizon's commit time. */
  readonly instant: string | null;
  /** What its refreshes cost so far, as JSON; null before the first one. */
  readonly costs: string | null;
}

/** A progress row as the table has it; the last three columns came with the second layout. */
interface StoredProgress {
  readonly view: string;
  readonly horizon: bigint | null;
  readonly run_id: string | null;
  readonly instant?: string | null;
  readonly costs?: Progress["costs"];
  readonly cursors?: string | null;
}

/** All of the tables that a run reads, as one row. */
interface StoredState {
  readonly version: number;
  readonly views: readonly { readonly name: string; readonly definition: string; readonly built: string | null }[];
  readonly progress: readonly StoredProgress[];
}

export interface State {
  /** The version of the tables; 0 where there are none. */
  readonly layout: number;
  readonly views: readonly StoredView[];
  readonly progress: ReadonlyMap<string, Progress>;
  readonly cursors: readonly Cursor[];
}

/** The tables of this project in the lake. */
export class StateTables {
  /** Once seen, the tables stay: nobody but this project drops them. */
  private seen = false;
  private current = false;
  /** The newest snapshot when the files of the tables were last counted; undefined where this process never has. */
  tidiedAt: bigint | undefined;
  /** What earlier runs of this process have read. */
  readonly kept: KeptState;

  constructor(private readonly engine: Engine) {
    this.kept = new KeptState(engine);
  }

  get schema(): string {
    return this.engine.stateSchema;
  }

  table(name: string): string {
    return quotePath([LAKE_NAME, this.schema, name]);
  }

  /** Forgets what was seen: the catalog is another one, or was restored to a time before it. */
  forget(): void {
    this.seen = false;
    this.current = false;
    this.tidiedAt = undefined;
    this.kept.forget();
  }

  async exists(session: Session): Promise<boolean> {
    if (this.seen) return true;
    this.seen = (await currentTableIds(session, this.engine, this.schema, ["layout"])).size > 0;
    return this.seen;
  }

  /** Creates the tables where they are missing and brings older ones up to date. @throws LakeError `state_too_new`. */
  async prepare(session: Session): Promise<void> {
    if (await this.exists(session)) {
      await this.upgrade(session);
      return;
    }
    const schema = quotePath([LAKE_NAME, this.schema]);
    // Commits of their own, since an option needs a schema that is committed; killed between them, the next run goes on.
    await session.run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await this.limitInlining(session);
    await migrate(session, this, 0);
    this.current = true;
  }

  /** A small inlined delete that races a compaction is lost without a conflict, so nothing of ours is inlined. */
  private limitInlining(session: Session): Promise<void> {
    return session.run(
      `CALL ${quoteIdentifier(LAKE_NAME)}.set_option('data_inlining_row_limit', 0, schema => ${quoteLiteral(this.schema)})`,
    );
  }

  /** Brings tables of an older version up to date; does nothing where there are none. @throws LakeError `state_too_new`. */
  async upgrade(session: Session): Promise<void> {
    if (this.current || !(await this.exists(session))) return;
    // Another process made the schema after this one had attached the lake.
    if (!this.engine.knowsInliningLimit(this.schema)) await this.limitInlining(session);
    const version = await this.version(session);
    if (version < LAYOUT_VERSION) await migrate(session, this, version);
    this.current = true;
  }

  /** @throws LakeError `state_too_new` where a newer version of this project wrote the tables. */
  private async version(session: Session): Promise<number> {
    const { version } = await session.row<{ version: number }>(`SELECT version FROM ${this.table("layout")}`);
    return known(version, this.schema);
  }

  /** Definitions and progress in a transaction that is pinned at a snapshot. */
  readPinned(session: Session, snapshot: bigint): Promise<State> {
    return this.kept.state(session, snapshot, () => this.read(session));
  }

  /** Definitions and progress, as they are now or as they were at a snapshot. */
  async read(session: Session, snapshot?: bigint): Promise<State> {
    if (!(await this.exists(session))) return { layout: 0, views: [], progress: new Map(), cursors: [] };
    const at = snapshot === undefined ? "" : ` AT (VERSION => ${snapshot})`;
    const list = (table: string, order: string): string =>
      `coalesce((SELECT list(state ORDER BY ${order}) FROM (SELECT * FROM ${this.table(table)}${at}) AS state), [])`;
    const { version, views, progress } = await session.row<StoredState>(
      `SELECT (SELECT version FROM ${this.table("layout")}) AS version, ${list("views", "name")} AS views, ${list("progress", "view")} AS progress`,
    );
    const rows = await this.progressOf(session, progress, at);
    return {
      layout: known(version, this.schema),
      views: views.map((view) => ({
        name: view.name,
        definition: JSON.parse(view.definition) as StoredDefinition,
        built: view.built === null ? null : (JSON.parse(view.built) as BuiltView),
      })),
      progress: new Map(rows.map(({ cursors, ...row }) => [row.view, row])),
      cursors: rows.flatMap(({ view, cursors }) => readCursors(view, cursors)),
    };
  }

  /** Another process may bring the tables up to date at any time, so the columns tell their layout. */
  private async progressOf(
    session: Session,
    rows: readonly StoredProgress[],
    at: string,
  ): Promise<(Progress & { cursors: string | null })[]> {
    const [first] = rows;
    if (first !== undefined && !("cursors" in first)) {
      const cursors = cursorsOfLayout1(`${this.table("cursors")}${at}`);
      return session.rows(
        `SELECT view, horizon, run_id AS "runId", NULL AS instant, NULL AS costs, (${cursors}) AS cursors FROM ${this.table("progress")} AS progress${at}`,
      );
    }
    return rows.map(({ view, horizon, run_id: runId, instant = null, costs = null, cursors = null }) => ({
      view,
      horizon,
      runId,
      instant,
      costs,
      cursors,
    }));
  }

  /** Names the commit of the open transaction in the lake's history. */
  async commitMessage(session: Session, message: string, info: Readonly<Record<string, unknown>>): Promise<void> {
    const extra = JSON.stringify(info, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    await session.run(
      `CALL ${quoteIdentifier(LAKE_NAME)}.set_commit_message(${quoteLiteral(AUTHOR)}, ${quoteLiteral(`ducklake-ivm: ${message}`)}, extra_info => ${quoteLiteral(extra)})`,
    );
  }
}

/** @throws LakeError `state_too_new` for a layout that only a newer version of this project knows. */
function known(version: number, schema: string): number {
  if (version <= LAYOUT_VERSION) return version;
  throw new LakeError(
    "state_too_new",
    `The schema ${schema} of the lake has layout ${version}; this version of ducklake-ivm knows layout ${LAYOUT_VERSION}.`,
    { hint: "Use the newer version of ducklake-ivm that wrote it." },
  );
}

/** The cursors of a view as its progress row keeps them: JSON, with numbers as text, since they can exceed 2^53. */
export function printCursors(cursors: readonly Omit<Cursor, "view">[]): string {
  return JSON.stringify(
    cursors.map(({ source, snapshot, tableId, tableUuid }) => ({
      source,
      snapshot: String(snapshot),
      tableId: String(tableId),
      tableUuid,
    })),
  );
}

function readCursors(view: string, json: string | null): Cursor[] {
  const cursors = JSON.parse(json ?? "[]") as Record<"source" | "snapshot" | "tableId" | "tableUuid", string>[];
  return cursors.map(({ source, snapshot, tableId, tableUuid }) => ({
    view,
    source,
    snapshot: BigInt(snapshot),
    tableId: BigInt(tableId),
    tableUuid,
  }));
}
