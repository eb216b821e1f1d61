import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { checkConfig, checkDefinitions } from "./arguments.js";
import { interrupted, orAborted } from "./engine/interrupt.js";
import { Engine, LAKE_NAME } from "./engine/lake.js";
import { Patience, retryConflicts } from "./engine/retry.js";
import type { Rows } from "./engine/rows.js";
import type { Session } from "./engine/session.js";
import { sparingMemory } from "./engine/sparing.js";
import { ConfigError, InterruptedError } from "./errors.js";
import { type IngestRequest, ingest, ingestRequest } from "./ingest/ingest.js";
import { addConsumer, commitConsumer, removeConsumer } from "./log/consumers.js";
import { endLog } from "./log/registry.js";
import { LogRoot, requireLog } from "./log/root.js";
import type { LogRows } from "./log/rows.js";
import { compact, consumerStatus, findLog, openRows, sweep } from "./log/verbs.js";
import type { Logger } from "./logger.js";
import { observedRefresh } from "./observe.js";
import { explainView } from "./refresh/explain.js";
import { graphOf } from "./refresh/graph.js";
import { readHistory } from "./refresh/history.js";
import { lineageOf } from "./refresh/lineage.js";
import { maintainLake } from "./refresh/maintain.js";
import { selectViews, viewUnknown } from "./refresh/order.js";
import { refreshUntilLevel } from "./refresh/overtaken.js";
import { overviewOf } from "./refresh/overview.js";
import { type RunContext, startRun } from "./refresh/plan-run.js";
import { queryLake } from "./refresh/query.js";
import { retentionOf } from "./refresh/retention.js";
import { runRefresh } from "./refresh/run.js";
import { selectByGraph } from "./refresh/select.js";
import { statusOfViews } from "./refresh/status.js";
import { verifyViews } from "./refresh/verify.js";
import { whyRows } from "./refresh/why.js";
import { replay } from "./replay/replay.js";
import { loadFunctions } from "./sql/functions.js";
import type {
  AppendOptions,
  CallOptions,
  CompactOptions,
  CompactResult,
  ConsumerStatus,
  DefineOptions,
  DefineResult,
  DropOptions,
  DropResult,
  ExplainResult,
  HistoryOptions,
  IngestResult,
  IngestSource,
  LakeConfig,
  LakeGraph,
  LogOptions,
  MaintainOptions,
  MaintainResult,
  MergeOptions,
  Overview,
  OverviewOptions,
  QueryOptions,
  RefreshOptions,
  RefreshResult,
  ReplayOptions,
  ReplayResult,
  RetentionResult,
  RunRecord,
  SelectOptions,
  SweepOptions,
  SweepResult,
  VerifyOptions,
  VerifyResult,
  ViewDefinition,
  ViewStatus,
  WhyOptions,
  WhyResult,
} from "./types.js";
import { applyDefinitions } from "./view/apply.js";
import { dropView } from "./view/drop.js";
import { StateTables } from "./view/state.js";

/** What `open` takes besides the lake. */
export interface OpenOptions {
  /**
   * An instance of DuckDB to work in, for programs that have one already. It stays the caller's to close. Two
   * optimizer rules are switched off in it, because they read old versions wrongly. One instance holds one lake:
   * where another one is attached as `lake`, `open` is ConfigError `lake_name_taken`.
   */
  readonly instance?: DuckDBInstance;
  readonly logger?: Logger;
  /** Attach the lake so that nothing in it can be written; one that does not exist is then an error. */
  readonly readOnly?: boolean;
  /** A lake that does not exist is an error too; otherwise it is made. */
  readonly mustExist?: boolean;
  /** Its abort ends the opening with InterruptedError. */
  readonly signal?: AbortSignal;
}

/**
 * Attaches a lake.
 * @throws ConfigError for a configuration of another shape; LakeError where catalog or storage can't be reached; EngineError where an extension can't be had;
 * InterruptedError.
 */
export async function open(config: LakeConfig, options: OpenOptions = {}): Promise<Lake> {
  checkConfig(config);
  const { signal } = options;
  if (signal?.aborted === true) throw interrupted(signal);
  const opening = Engine.open(config, options);
  try {
    return new Lake(await orAborted(opening, signal));
  } catch (error) {
    // A server that does not answer can't be interrupted; what comes of it later is closed.
    opening.then(
      (engine) => engine.close(),
      () => undefined,
    );
    throw error;
  }
}

/**
 * An attached lake and its materialized views. One call at a time: calls wait for each other. Every call that may be
 * long takes a `signal`, whose abort ends it with InterruptedError and leaves nothing half done.
 */
export class Lake implements AsyncDisposable {
  /** The catalog's name on connections that `connect` gives. */
  readonly name = LAKE_NAME;
  private readonly tables: StateTables;
  private readonly logs: LogRoot | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  /** The session of the present call, where it is as good as a new one, and the newest snapshot that the call has seen. */
  private rested: { readonly session: Session; readonly newest: bigint | undefined } | undefined;

  private closing: Promise<void> | undefined;

  /** @internal Use `open`. */
  constructor(private readonly engine: Engine) {
    this.tables = new StateTables(engine);
    this.logs = LogRoot.open(engine.config, this.tables);
  }

  /** A new connection to the same instance, with the lake in use. The caller closes it. */
  async connect(): Promise<DuckDBConnection> {
    this.requireOpen();
    return (await this.engine.session()).connection;
  }

  /**
   * Registers definitions: new ones are created, changed ones are rebuilt by the next refresh, and views that are not
   * among them are dropped only with `drop`. Nothing is written where any definition is wrong.
   * @throws DefinitionError for a definition that is wrong or has no single answer.
   */
  define(definitions: readonly ViewDefinition[], options: DefineOptions = {}): Promise<DefineResult> {
    return this.exclusive(async (session) => {
      checkDefinitions(definitions);
      const functions = await loadFunctions(session);
      const endLogOf = (view: string): Promise<void> => endLog(session, this.tables, view);
      return this.retrying(session, () =>
        applyDefinitions(session, this.engine, this.tables, functions, definitions, options, endLogOf),
      );
    }, options);
  }

  /**
   * Drops a view with its tables and its change log. The history of its runs stays.
   * @throws ConfigError `view_unknown`; `view_in_use` where views or consumers read it and `cascade` is not set.
   */
  drop(view: string, options: DropOptions = {}): Promise<DropResult> {
    return this.exclusive((session) => {
      const endLogOf = (name: string): Promise<void> => endLog(session, this.tables, name);
      return this.retrying(session, async () => {
        if (options.dryRun !== true) await this.tables.upgrade(session);
        return dropView(session, this.engine, this.tables, view, options, viewUnknown, endLogOf);
      });
    }, options);
  }

  /**
   * Brings views, with everything they read, to one horizon. A view that fails is reported in the result and stops
   * only those that read it.
   * @throws ConfigError for an unknown view, LakeError for a snapshot that does not exist, InterruptedError.
   */
  refresh(options: RefreshOptions = {}): Promise<RefreshResult> {
    return this.exclusive(async (session) => {
      if (options.dryRun !== true) await this.retrying(session, () => this.tables.upgrade(session));
      const sessions: [Session, ...Session[]] = [session];
      const observed = {
        refresh: (told: RefreshOptions) => {
          const run = () => runRefresh((own) => this.start(own, options.toSnapshot), sessions, told);
          return refreshUntilLevel(run, session.patience);
        },
        lineage: async () => lineageOf((await this.start(session, undefined)).state.views, this.schema),
        overview: async () => {
          const run = await this.start(session, undefined);
          return overviewOf(run, selectViews(run.state.views, undefined), { buckets: 1, recent: 1 });
        },
      };
      try {
        while (sessions.length < this.jobsOf(options)) sessions.push(await this.session(options.signal));
        const result = await observedRefresh(observed, options);
        // It has read, and made no table.
        const newest = options.toSnapshot === undefined ? result.horizon : undefined;
        if (result.status === "unchanged") this.rested = { session, newest };
        return result;
      } finally {
        for (const own of sessions.slice(1)) own.close();
      }
    }, options);
  }

  /** @throws ConfigError `jobs_invalid`. */
  private jobsOf({ jobs = 1, dryRun }: RefreshOptions): number {
    if (!Number.isInteger(jobs) || jobs < 1) {
      throw new ConfigError("jobs_invalid", "The number of jobs must be a whole number of at least 1.");
    }
    // What a dry run knows of a view depends on the one before it; in SQLite a reader keeps the writer waiting.
    return dryRun === true || !this.engine.readsTogether ? 1 : jobs;
  }

  /**
   * Adds rows to a table. Without a key all of them, at each call; with one only those whose key the table does not
   * have, so that a call can be repeated.
   * @param table as in SQL: `orders`, `sales."order lines"`; without a schema one of `main`.
   * @throws ConfigError for a table, key or query that is wrong, IngestError for rows that can't be taken,
   * ConflictError where other writers were faster again and again. Nothing is then written.
   */
  append(table: string, from: IngestSource, options: AppendOptions = {}): Promise<IngestResult> {
    const key = options.key === undefined || options.key.length === 0 ? null : options.key;
    const request = { ...ingestRequest(table, from, options), kind: "append" as const, key, deleteMissing: false };
    return this.ingest(request, options);
  }

  /**
   * Makes a table hold the input's rows, by key: new ones are inserted, changed ones replaced, and with
   * `deleteMissing` those go that the input does not have. Rows that are the same cost no write.
   * @param table as in SQL: `orders`, `sales."order lines"`; without a schema one of `main`.
   * @throws ConfigError for a table, key or query that is wrong, IngestError for rows that can't be taken,
   * ConflictError where other writers were faster again and again. Nothing is then written.
   */
  merge(table: string, from: IngestSource, options: MergeOptions): Promise<IngestResult> {
    const { key, deleteMissing = false } = options;
    return this.ingest({ ...ingestRequest(table, from, options), kind: "merge", key, deleteMissing }, options);
  }

  /** How a view is kept and what a refresh would do with it now. @throws ConfigError for an unknown view. */
  explain(view: string, options: CallOptions = {}): Promise<ExplainResult> {
    return this.exclusive(async (session) => {
      const run = await this.start(session, undefined);
      const [found] = selectViews(run.state.views, [view]).slice(-1);
      if (found === undefined) throw new TypeError("selectViews gives the asked view last");
      return explainView(run, found);
    }, options);
  }

  /**
   * From rows of a view to the source rows and the snapshots that made or changed them, and the runs that applied those.
   * @throws ConfigError `view_unknown`, `key_invalid` for columns that the view has not and values that are not of their
   * types; RefreshError `not_built` for a view that was never refreshed.
   */
  why(view: string, options: WhyOptions): Promise<WhyResult> {
    return this.exclusive(async (session) => {
      const run = await this.start(session, undefined);
      const [found] = selectViews(run.state.views, [view]).slice(-1);
      if (found === undefined) throw new TypeError("selectViews gives the asked view last");
      return whyRows(run, found, options);
    }, options);
  }

  /** Recomputes views at their own horizons and compares. @throws ConfigError for an unknown view. */
  verify(options: VerifyOptions = {}): Promise<VerifyResult[]> {
    return this.exclusive(
      (session) => this.retrying(session, () => verifyViews(session, this.engine, this.tables, options)),
      options,
    );
  }

  /** Which snapshots of the lake views and logs still need, and how long the lake will keep them. */
  retention(options: CallOptions = {}): Promise<RetentionResult> {
    return this.exclusive(async (session) => retentionOf(await this.start(session, undefined)), options);
  }

  /**
   * The upkeep of the whole lake, in the order that harms nobody: flush, expire, merge, rewrite, clean-up, and the change
   * logs. Snapshots that a view or a log needs are never expired; what deletes is only told unless `deletes` is set.
   */
  maintain(options: MaintainOptions = {}): Promise<MaintainResult> {
    return this.exclusive(async (session) => {
      await this.retrying(session, () => this.tables.upgrade(session));
      return maintainLake(() => this.start(session, undefined), options);
    }, options);
  }

  /** Where each view stands against the lake as it is now. */
  status(options: CallOptions = {}): Promise<ViewStatus[]> {
    return this.exclusive(async (session) => {
      const run = await this.start(session, undefined);
      return statusOfViews(run, selectViews(run.state.views, undefined));
    }, options);
  }

  /**
   * What runs did to views, newest first, with the failures.
   * @throws ConfigError `view_unknown` for a view that the lake neither has nor remembers.
   */
  history(options: HistoryOptions = {}): Promise<RunRecord[]> {
    return this.exclusive((session) => this.retrying(session, () => readHistory(session, this.tables, options)));
  }

  /**
   * The names of the views that selectors name, each after what it reads.
   * @throws ConfigError `selector_unknown` for a selector that names nothing.
   */
  select(options: SelectOptions): Promise<string[]> {
    return this.exclusive((session) =>
      this.retrying(session, async () => {
        const { views } = await this.tables.read(session);
        return selectByGraph(selectViews(views, undefined), options).map(({ name }) => name);
      }),
    );
  }

  /** Which view reads what, and how fresh all of it is. */
  graph(): Promise<LakeGraph> {
    return this.exclusive(async (session) => {
      const run = await this.start(session, undefined);
      return graphOf(run, selectViews(run.state.views, undefined));
    });
  }

  /** Everything that a report tells of the lake; writes nothing. `renderReport` makes a page of it. */
  overview(options: OverviewOptions = {}): Promise<Overview> {
    return this.exclusive(async (session) => {
      const run = await this.start(session, undefined);
      return overviewOf(run, selectViews(run.state.views, undefined), options);
    }, options);
  }

  /**
   * What changed in a view between two snapshots, consolidated and sorted by key, read as it is asked for.
   * @param view may be left out for a consumer, which has a view of its own.
   * @throws ConfigError `log_off`, `log_unknown`, `consumer_unknown`, `key_invalid`; LakeError `log_position_lost`, or
   * `consumer_reset` for a consumer that must take the whole state.
   */
  changes(view: string | undefined, options: LogOptions): Promise<LogRows> {
    return this.rows(view, "changes", options);
  }

  /** The whole state of a view at a snapshot that its log can answer for, sorted by key, with its position. */
  state(view: string | undefined, options: LogOptions = {}): Promise<LogRows> {
    return this.rows(view, "state", options);
  }

  /**
   * Rows of a view, or of one SELECT in the lake: views are read by their names, tables `AT (VERSION => n)` as well.
   * Functions such as `read_csv` read files with the rights of this process; table functions that may write are refused.
   * @param query a view's name, or the SELECT.
   * @throws ConfigError `query_invalid` for a text that is anything else, `view_unknown`; RefreshError `not_built`,
   * `engine_error` for what DuckDB says.
   */
  async query(query: string, options: QueryOptions = {}): Promise<Rows> {
    this.requireOpen();
    const session = await this.callSession(options.signal);
    try {
      return await queryLake(session, this.tables, this.schema, query, options);
    } catch (error) {
      session.close();
      throw orInterrupted(error, options.signal);
    }
  }

  /** Compacts change logs, repairs their manifests and sweeps files that nothing needs. */
  compact(options: CompactOptions = {}): Promise<CompactResult> {
    return this.logging((session, root) => compact(session, root, options), options);
  }

  /** Removes files below the log root that nothing registers, older than the grace time. */
  sweep(options: SweepOptions = {}): Promise<SweepResult> {
    return this.logging((session, root) => sweep(session, root, options), options);
  }

  /** Registers a consumer: at a snapshot, at the log's end, or before its first state. @throws ConfigError `consumer_name`, `consumer_exists`. */
  addConsumer(name: string, view: string, at?: bigint | "end"): Promise<void> {
    return this.logging(async (session, root) => {
      const { log } = await findLog(session, root, view);
      await addConsumer(session, root, name, log, at);
    });
  }

  /** Forgets a consumer: windows are no longer kept for it. @throws ConfigError `consumer_unknown`. */
  removeConsumer(name: string): Promise<void> {
    return this.logging((session, root) => removeConsumer(session, root, name));
  }

  /**
   * Moves a consumer to a position that `changes` or `state` told. False where it stands there already.
   * @param from what the consumer read from; a consumer that stands elsewhere by now is ConflictError `consumer_moved`.
   * @throws ConfigError `consumer_ahead` for a position that it has left behind.
   */
  commitConsumer(name: string, to: bigint, from?: bigint | null): Promise<boolean> {
    return this.logging((session, root) => commitConsumer(session, root, name, to, from));
  }

  /**
   * Brings a mirror of a view in another database to the end of the view's log, by key and in one transaction of that
   * database, which also keeps where the mirror stands: run again after any failure it goes on from there.
   * @throws ConfigError `replay_target`, `replay_foreign`, `replay_columns`, `replay_type`, `replay_no_key` and those of
   * consumers; LakeError `replay_target_unreachable`, `replay_refused`, `replay_differs`; ConflictError where other
   * replays of the same mirror were faster.
   */
  replay(options: ReplayOptions): Promise<ReplayResult> {
    return this.logging((session, root) => replay({ session, engine: this.engine, root }, options), options);
  }

  /** Every registered consumer, and how far it is behind its log. */
  consumers(): Promise<ConsumerStatus[]> {
    return this.logging((session, root) => consumerStatus(session, root));
  }

  /** Waits for the calls that were made and closes the lake: later ones are ConfigError `lake_closed`; an instance that was given to `open` stays open. */
  close(): Promise<void> {
    this.closing ??= this.queue.then(() => {
      this.logs?.close();
      this.engine.close();
    });
    return this.closing;
  }

  private requireOpen(): void {
    if (this.closing !== undefined) throw lakeClosed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The schema of the user-facing views. */
  private get schema(): string {
    return this.engine.config.schema ?? "main";
  }

  private ingest(request: IngestRequest, options: CallOptions): Promise<IngestResult> {
    return this.exclusive((session) => {
      const retry = <Result>(work: () => Promise<Result>) => this.retrying(session, work);
      return ingest({ session, engine: this.engine, state: this.tables, retry }, request);
    }, options);
  }

  /** On a connection of its own, which lives as long as the rows are read. */
  private async rows(view: string | undefined, what: "changes" | "state", options: LogOptions): Promise<LogRows> {
    this.requireOpen();
    const root = requireLog(this.logs);
    const session = await this.callSession(options.signal);
    try {
      await this.tables.upgrade(session);
      return await this.retrying(session, () => openRows(session, root, view, what, options));
    } catch (error) {
      session.close();
      throw orInterrupted(error, options.signal);
    }
  }

  private logging<Result>(
    work: (session: Session, root: LogRoot) => Promise<Result>,
    options: CallOptions = {},
  ): Promise<Result> {
    return this.exclusive((session) => {
      const root = requireLog(this.logs);
      return this.retrying(session, async () => {
        await this.tables.upgrade(session);
        return work(session, root);
      });
    }, options);
  }

  private start(session: Session, toSnapshot: bigint | undefined): Promise<RunContext> {
    return this.retrying(session, () => startRun(session, this.engine, this.tables, toSnapshot, this.logs));
  }

  /** For a call of its own: a catalog that was restored since the last one is met as if the lake had just been opened. */
  private async callSession(signal: AbortSignal | undefined): Promise<Session> {
    const session = await this.session(signal);
    try {
      const restored = await this.retrying(session, () => this.engine.heedRestored(session));
      if (restored) this.tables.forget();
      return session;
    } catch (error) {
      session.close();
      throw orInterrupted(error, signal);
    }
  }

  /** A busy catalog can't even be put in use. */
  private async session(signal: AbortSignal | undefined): Promise<Session> {
    const none = async (): Promise<void> => undefined;
    try {
      const patience = new Patience(this.engine.config.retryForMs);
      return await retryConflicts(() => this.engine.session(signal, patience), none, { signal, patience });
    } catch (error) {
      throw orInterrupted(error, signal);
    }
  }

  private retrying<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
    const sparing = (): Promise<Result> => sparingMemory(session, work);
    return retryConflicts(sparing, () => this.engine.reattach(session), session);
  }

  private exclusive<Result>(
    work: (session: Session) => Promise<Result>,
    { signal }: CallOptions = {},
  ): Promise<Result> {
    if (this.closing !== undefined) return Promise.reject(lakeClosed());
    const turn = this.queue;
    const result = this.inTurn(turn, work, signal);
    // A call that is aborted while it waits ends before its turn has come.
    this.queue = Promise.allSettled([turn, result]).then(() => undefined);
    return result;
  }

  private async inTurn<Result>(
    turn: Promise<unknown>,
    work: (session: Session) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    await orAborted(turn, signal);
    const session = await this.callSession(signal);
    try {
      const result = await work(session);
      // The work is done, whether or not the catalog can be looked at once more.
      await this.engine.noteCatalog(session, this.rested?.newest).catch(() => undefined);
      if (this.rested?.session === session) this.engine.keep(session);
      else session.close();
      return result;
    } catch (error) {
      session.close();
      throw orInterrupted(error, signal);
    } finally {
      this.rested = undefined;
    }
  }
}

/** What was interrupted may fail in any way. */
function orInterrupted(error: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true && !(error instanceof InterruptedError) ? interrupted(signal) : error;
}

function lakeClosed(): ConfigError {
  return new ConfigError("lake_closed", "The lake was closed.", {
    hint: "Open it again, or close it after the last call.",
  });
}
