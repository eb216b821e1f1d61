import pLimit from "p-limit";
import { Gate } from "../engine/gate.js";
import { retryConflicts } from "../engine/retry.js";
import type { Session } from "../engine/session.js";
import { sparingMemory } from "../engine/sparing.js";
import { ConflictError, RefreshError } from "../errors.js";
import type { Position, RefreshOptions, ViewResult } from "../types.js";
import type { StoredView } from "../view/state.js";
import { selectViews, upstreamOf } from "./order.js";
import type { RunContext } from "./plan-run.js";
import { UPSTREAM_FAILED } from "./record-failures.js";
import { refreshView } from "./refresh-view.js";
import { errorResult, failure, skipped } from "./results.js";
import { SharedDeltas } from "./shared-deltas.js";

/** Reads what a run must know, on one of its sessions. */
export type Start = (session: Session) => Promise<RunContext>;

interface RunOptions extends RefreshOptions {
  readonly runId: string;
  /** The names of the views that were asked for; the others are read by them. */
  readonly asked: ReadonlySet<string>;
}

/** The views of one run: each begins when all that it reads is done, as many side by side as there are sessions. */
export class ViewRuns {
  /** By lower-case name. */
  private readonly failed = new Set<string>();
  private readonly gate = new Gate();
  /** One context a session, free or in use: they share what the run knows, and nothing that lives on a connection. */
  private readonly contexts: RunContext[];

  constructor(
    run: RunContext,
    private readonly start: Start,
    sessions: readonly Session[],
    private readonly options: RunOptions,
  ) {
    this.contexts = sessions.map((session) => ({ ...run, session, shared: new SharedDeltas() }));
  }

  /**
   * Refreshes the views, which come each after what it reads; the results have the same order.
   * @throws InterruptedError once nothing is under way any more.
   */
  async all(views: readonly StoredView[]): Promise<ViewResult[]> {
    const limit = pLimit(this.contexts.length);
    const runs = new Map<string, Promise<ViewResult>>();
    for (const [index, view] of views.entries()) {
      const upstream = upstreamOf(view).flatMap((name) => runs.get(name.toLowerCase()) ?? []);
      // One at a time is in the given order.
      const before = this.contexts.length === 1 ? [...runs.values()].slice(-1) : upstream;
      const position = { number: index + 1, of: views.length };
      const run = Promise.all(before).then(() => limit(() => this.inFreeContext(view, position)));
      runs.set(view.name.toLowerCase(), run);
    }
    const ends = await Promise.allSettled(runs.values());
    const results: ViewResult[] = [];
    for (const end of ends) {
      if (end.status === "rejected") throw end.reason;
      results.push(end.value);
    }
    for (const { session, shared } of this.contexts) await shared.drop(session);
    return results;
  }

  private async inFreeContext(view: StoredView, position: Position): Promise<ViewResult> {
    const context = this.contexts.shift();
    if (context === undefined) throw new TypeError("there are as many contexts as views at a time");
    const { notify } = context;
    try {
      context.session.checkSignal();
      notify({ kind: "view_started", view: view.name, position });
      const result = await this.refresh(context, view);
      notify({ kind: "view_finished", view: view.name, position, result });
      return result;
    } finally {
      this.contexts.push(context);
    }
  }

  private async refresh(context: RunContext, view: StoredView): Promise<ViewResult> {
    const { session, engine, notify } = context;
    const { name } = view;
    if (this.options.failFast === true && this.failed.size > 0) {
      return skipped(view, { code: "stopped", text: "it was left alone because another view had failed" });
    }
    const began = performance.now();
    const once = (attempt: number): Promise<ViewResult> => {
      const work = (): Promise<ViewResult> => this.attempt(context, name, attempt);
      return createsTables(view) ? this.gate.alone(work) : this.gate.beside(work);
    };
    const reattach = (): Promise<void> => this.gate.alone(() => engine.reattach(session));
    const retrying = (error: ConflictError): void =>
      notify({ kind: "retrying", view: name, error: errorResult(error) });
    try {
      const result = await retryConflicts(once, reattach, session, retrying);
      return { ...result, elapsedMs: performance.now() - began };
    } catch (error) {
      session.checkSignal();
      this.failed.add(name.toLowerCase());
      return failure(name, upstreamOf(view), error, performance.now() - began);
    }
  }

  private async attempt(context: RunContext, name: string, attempt: number): Promise<ViewResult> {
    const { runId, asked, dryRun, fullRefresh } = this.options;
    const run = attempt === 1 ? context : await this.startAgain(context);
    const view = selectViews(run.state.views, [name]).at(-1);
    if (view === undefined) throw new ConflictError("view_dropped", `View ${name} was dropped in the meantime.`);
    const upstream = upstreamOf(view).find((upstreamName) => this.failed.has(upstreamName.toLowerCase()));
    if (upstream !== undefined) throw upstreamFailed(view, upstream);
    const full = fullRefresh === true && asked.has(name);
    return sparingMemory(run.session, () => refreshView(run, view, { runId, dryRun: dryRun === true, full }));
  }

  /** After a conflict the state is read anew: another run may have done the work already. */
  private async startAgain(context: RunContext): Promise<RunContext> {
    const { horizon, instant, moved, moving, standing, shared } = context;
    return { ...(await this.start(context.session)), horizon, instant, moved, moving, standing, shared };
  }
}

/**
 * True where the refresh creates tables. In DuckDB 1.5.5 a commit that does so can free what transactions of other
 * connections still look at, and the process dies.
 */
function createsTables({ built, definition }: StoredView): boolean {
  return built === null || built.fingerprint !== definition.fingerprint;
}

function upstreamFailed(view: StoredView, upstream: string): RefreshError {
  return new RefreshError(
    UPSTREAM_FAILED,
    `View ${view.name} was left alone because ${upstream}, which it reads, failed.`,
    {
      subject: { view: view.name },
      hint: `Correct ${upstream} first.`,
    },
  );
}
