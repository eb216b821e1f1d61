import { loadDifference, type SourceDelta, WEIGHT } from "../catalog/source-delta.js";
import { countAt, tableAtVersion } from "../catalog/tables.js";
import { IvmError } from "../errors.js";
import { loadLoggedDelta } from "../log/read.js";
import { LogWriter } from "../log/writer.js";
import { type CostChoice, type CostStrategy, type Measurement, SMALL_ROWS } from "../plan/cost.js";
import { MANY_ROWS } from "../plan/lower-correlated.js";
import { inputsOf, type Relation } from "../plan/relation.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { Reason, Strategy, ViewResult } from "../types.js";
import { isLimited, type Layout } from "../view/layout.js";
import { countedName } from "../view/state.js";
import { visibleDelta, visibleSelect } from "../view/visible.js";
import { CANDIDATES_EXHAUSTED } from "./candidates.js";
import { type ComputeInput, computeIncremental, computeRecompute, countedRows, physicalRows } from "./compute.js";
import { costReason, costResult, estimateCosts, storedCosts } from "./cost.js";
import { countedDifference, DIFFERENCE } from "./difference.js";
import {
  instantsOf,
  type PlannedSource,
  type PlannedView,
  type RunContext,
  readersOf,
  usedColumns,
} from "./plan-run.js";
import { countTerms, logResult, NO_TERMS, sourceResult } from "./results.js";
import { requireSameColumns } from "./same-columns.js";
import type { Instants, RunSource } from "./sources.js";
import { TABLE_ALTERED } from "./stored-table.js";
import {
  physicalName,
  physicalTable,
  type WriteInput,
  type Written,
  writeCursors,
  writeDifference,
  writeNew,
} from "./write.js";

/** Beyond so many inputs of a join the order that DuckDB finds by its estimates is worse than the written one. */
const MOST_REORDERED = 10;

/** An incremental refresh that was chosen by cost is given up when it takes so many times what a recompute should. */
const GIVEN_UP_FACTOR = 3;
const GIVEN_UP_MS = 2000;
const INTERRUPT_EVERY_MS = 100;

/** Failures of an incremental refresh that a recompute does not have; null for all others. */
function incrementalFailure(error: unknown): Reason | null {
  if (error instanceof GivenUp) return { code: "cost_exceeded", text: error.message };
  if (!(error instanceof IvmError)) return null;
  if (error.code === TABLE_ALTERED) {
    return { code: TABLE_ALTERED, text: "something else has written to the view's physical table" };
  }
  // The sum of a change can leave a range that the sums before and after it are in.
  if (error.code === "engine_error" && /^(Out of Range|Conversion) Error/.test(error.message)) {
    return { code: "out_of_range", text: "the change of a sum is out of its type's range" };
  }
  if (error.code === CANDIDATES_EXHAUSTED) {
    return {
      code: CANDIDATES_EXHAUSTED,
      text: "the rows that are kept beyond the LIMIT are used up and are read anew",
    };
  }
  // A subquery may only have one row for the rows that ask for it, and the rule looks at others as well.
  if (error.code === "engine_error" && error.message.includes(MANY_ROWS)) {
    return { code: "scalar_subquery", text: MANY_ROWS };
  }
  return null;
}

/** True where the same tables hold what two layouts ask for. */
function sameTables(one: Layout, other: Layout): boolean {
  const columns = (layout: Layout) => [layout.columns, ...(layout.counted ?? []).map((table) => table.columns)];
  return JSON.stringify(columns(one)) === JSON.stringify(columns(other));
}

/** Ends an incremental refresh that turned out to be dearer than a recompute. */
class GivenUp extends Error {}

/** The refresh of one view, from its windows to the commit. */
export class ViewWork {
  private readonly deltas = new Map<string, SourceDelta>();
  private cost: CostChoice | null = null;
  /** What this refresh has measured before it was done: an attempt that was given up. */
  private readonly measured: Omit<Measurement, "refresh">[] = [];
  /** When the work that is measured began. */
  private began: number;
  private log: LogWriter | null = null;

  constructor(
    private readonly context: RunContext,
    private readonly planned: PlannedView,
    private readonly runId: string,
    private readonly startedAt: number,
  ) {
    this.began = startedAt;
  }

  async run(): Promise<ViewResult> {
    const { strategy, reason } = this.planned;
    this.cost = await estimateCosts(this.context, this.planned);
    this.log = await this.openLog();
    if (strategy === "initial") return this.build("initial", null);
    if (strategy === "recompute") return this.recompute(reason);
    if (this.mayChoose && this.cost?.strategy === "recompute") return this.recompute(costReason(this.cost));
    try {
      return await this.incremental();
    } catch (error) {
      const reason = incrementalFailure(error);
      if (reason === null) throw error;
      const { session, engine } = this.context;
      if (error instanceof GivenUp) this.measure("incremental");
      await session.endReading(false);
      this.context.shared.forget();
      if (engine.readsTogether) await session.beginReading();
      return this.recompute(reason);
    }
  }

  async moveCursors(): Promise<void> {
    const { built } = this.planned.view;
    if (built === null) throw new TypeError("a view that has consumed anything has a table");
    this.log = await this.openLog();
    const terms = countTerms(this.planned.view.definition.plan, () => false, false);
    const written = await writeCursors(this.writeInput("incremental", null, terms), built);
    this.context.moved.set(this.planned.view.name.toLowerCase(), { snapshot: written.snapshot, built });
    await this.context.history.extend(this.context.session, written.snapshot);
  }

  private async incremental(): Promise<ViewResult> {
    const { plan } = this.planned.view.definition;
    const { built } = this.planned.view;
    if (plan === null || built === null) throw new TypeError("an incremental refresh needs a plan and a table");
    for (const source of this.planned.sources) {
      if (source.state.kind === "changed") this.deltas.set(source.defined.name, await this.loadDelta(source));
    }
    const { instants } = this;
    const changed = (source: string): boolean => (this.deltas.get(source)?.rows ?? 0n) > 0n;
    const terms = countTerms(plan, changed, instants.old !== instants.new);
    let written: Written;
    if (terms.run === 0) {
      written = await writeCursors(this.writeInput("incremental", null, terms), built);
    } else {
      const { engine, session } = this.context;
      const compute = (): Promise<void> => computeIncremental(this.computeInput(), plan);
      const asWritten = widestJoin(plan.relation) > MOST_REORDERED;
      await this.whileCheap(() => (asWritten ? engine.joiningAsWritten(session, compute) : compute()));
      written = await writeDifference(this.writeInput("incremental", null, terms), built, false);
    }
    return this.finish("incremental", null, terms, written, built.table);
  }

  private async recompute(reason: Reason | null): Promise<ViewResult> {
    const { built, definition } = this.planned.view;
    if (reason?.code === "source_schema_changed") await requireSameColumns(this.computeInput(), reason);
    if (built === null) return this.build("recompute", reason);
    if (!sameTables(built.layout, definition.layout)) return this.build("recompute", reason);
    // The same table may stand for other visible rows: another HAVING, another expression over the same state.
    const rebuilt = built.fingerprint !== definition.fingerprint;
    await computeRecompute(this.computeInput());
    const written = await writeDifference(this.writeInput("recompute", reason, NO_TERMS), built, rebuilt);
    return this.finish("recompute", reason, NO_TERMS, written, built.table);
  }

  private async build(strategy: Strategy, reason: Reason | null): Promise<ViewResult> {
    const compute = this.computeInput();
    const [rows, counted] = [await physicalRows(compute), countedRows(compute)];
    const input = this.writeInput(strategy, reason, NO_TERMS);
    const written = await writeNew(input, rows, counted, this.planned.view.built);
    return this.finish(strategy, reason, NO_TERMS, written, physicalName(this.planned.view.name));
  }

  private async openLog(): Promise<LogWriter | null> {
    const { logs, session, horizon } = this.context;
    const { view, progress } = this.planned;
    if (logs === undefined) return null;
    return LogWriter.open(logs, session, view.definition, { id: this.runId, from: progress.horizon, horizon });
  }

  private async loadDelta(source: PlannedSource): Promise<SourceDelta> {
    const { session } = this.context;
    const { state, from, layout } = source;
    if (state.kind !== "changed" || from === null)
      throw new TypeError("only a changed source with a cursor has a delta");
    const target = this.deltaName(source.defined.name);
    const used = usedColumns(this.planned.view, source.defined);
    if (source.logged !== null) return this.loadLogged(source, source.logged, used, target);
    const request = { table: source.table, from, to: source.to, method: state.method, reason: state.reason, target };
    const { columns, readers } = readersOf(this.context, source.defined);
    if (layout === null) return this.context.shared.load(session, { ...request, columns: used }, columns, readers);
    if (isLimited(layout)) {
      const [after, before] = [source.to, from].map((version) =>
        visibleSelect(layout, tableAtVersion(source.table, version)),
      );
      const reason = {
        code: "limited_view",
        text: `${source.defined.name} has a LIMIT, so its rows before and after are compared`,
      };
      return {
        ...(await loadDifference(session, target, used, after ?? "", before ?? "")),
        method: "difference",
        reason,
      };
    }
    const physical = layout.columns.map((column) => column.name);
    const shape = { columns: used, select: (rows: string) => visibleDelta(layout, rows, WEIGHT, false) };
    return this.context.shared.load(session, { ...request, columns: physical, shape }, physical, readers);
  }

  private async loadLogged(
    { table, to, state }: PlannedSource,
    logged: NonNullable<PlannedSource["logged"]>,
    used: readonly string[],
    target: string,
  ): Promise<SourceDelta> {
    const { session, logs } = this.context;
    if (logs === undefined) throw new TypeError("a window of a log needs the log");
    const rows = await loadLoggedDelta(session, logs.store, logged.state.schema, logged.read, used, target, WEIGHT);
    const reason = state.kind === "changed" ? state.reason : null;
    return { rows, method: "log", reason, sourceRows: await countAt(session, table, to) };
  }

  /** Names of temporary tables are by position: a source's own name may be too long or too odd. */
  private deltaName(source: string): string {
    return `ivm_delta_${this.planned.sources.findIndex((candidate) => candidate.defined.name === source) + 1}`;
  }

  private get mayChoose(): boolean {
    return this.planned.view.definition.refresh === "auto";
  }

  /** Runs an incremental computation, and gives it up where it takes much longer than a recompute would. */
  private async whileCheap(compute: () => Promise<void>): Promise<void> {
    if (!this.mayChoose || this.cost === null || this.cost.work.rows < SMALL_ROWS) return compute();
    const { connection } = this.context.session;
    const allowed = Math.max(GIVEN_UP_MS, GIVEN_UP_FACTOR * this.cost.recompute.ms);
    let late = false;
    // An interrupt between two statements hits neither, so it is repeated.
    const timer = setInterval(() => {
      if (performance.now() - this.began < allowed) return;
      late = true;
      connection.interrupt();
    }, INTERRUPT_EVERY_MS);
    try {
      await compute();
    } catch (error) {
      if (!late) throw error;
      throw new GivenUp(`the rules were given up after ${Math.round(performance.now() - this.began)} ms`);
    } finally {
      clearInterval(timer);
    }
  }

  /** Notes what the work since the last note took. */
  private measure(strategy: CostStrategy, initial = false): void {
    if (this.cost === null) return;
    const now = performance.now();
    this.measured.push({ ...this.cost.work, strategy, ms: now - this.began, ...(initial ? { initial } : {}) });
    this.began = now;
  }

  /** Called when all but the commit is done. */
  private costs(strategy: Strategy, terms: number): string | null {
    // Moved cursors alone say nothing of what a change costs.
    if (strategy === "incremental") {
      if (terms > 0) this.measure(strategy);
    } else {
      this.measure("recompute", strategy === "initial");
    }
    return storedCosts(this.planned, this.measured);
  }

  private computeInput(): ComputeInput {
    const { definition, built } = this.planned.view;
    const sources = new Map<string, RunSource>();
    for (const source of this.planned.sources) {
      const delta = this.deltas.get(source.defined.name);
      const changed = delta !== undefined && delta.rows > 0n;
      sources.set(source.defined.name, {
        name: source.defined.name,
        table: source.table,
        layout: source.layout,
        from: changed ? (source.from ?? source.to) : source.to,
        to: source.to,
        delta: changed ? this.deltaName(source.defined.name) : null,
        oldLost: source.logged !== null,
      });
    }
    const physical = built?.table ?? physicalName(definition.name);
    return {
      session: this.context.session,
      definition,
      sources,
      table: physicalTable(this.context.tables, physical),
      counted: (definition.layout.counted ?? []).map((_, position) =>
        physicalTable(this.context.tables, countedName(physical, position)),
      ),
      instants: this.instants,
    };
  }

  private get instants(): Instants {
    return instantsOf(this.context, this.planned.progress);
  }

  private writeInput(strategy: Strategy, reason: Reason | null, terms: ViewResult["terms"]): WriteInput {
    const { context, planned } = this;
    const sources = planned.sources.map((source) => ({
      source: source.defined.name,
      from: source.from === null ? null : String(source.from),
      to: String(source.to),
      delta: this.deltas.get(source.defined.name)?.method ?? null,
      deltaReason: this.deltas.get(source.defined.name)?.reason?.code ?? null,
      deltaRows: String(this.deltas.get(source.defined.name)?.rows ?? 0n),
    }));
    return {
      session: context.session,
      engine: context.engine,
      state: context.tables,
      definition: planned.view.definition,
      before: planned.progress,
      horizon: context.horizon,
      instant: context.instant,
      runId: this.runId,
      log: this.log,
      cursors: planned.sources.map((source) => ({
        source: source.defined.name,
        snapshot: source.to,
        tableId: source.identity.id,
        tableUuid: source.identity.uuid,
      })),
      record: {
        strategy,
        reason: reason === null ? null : `${reason.code}: ${reason.text}`,
        sources: JSON.stringify(sources),
        terms: JSON.stringify({ ...terms, cost: this.cost === null ? null : costResult(this.cost) }),
        startedAt: this.startedAt,
        costs: () => this.costs(strategy, terms.run),
      },
    };
  }

  private async finish(
    strategy: Strategy,
    reason: Reason | null,
    terms: ViewResult["terms"],
    written: Written,
    table: string,
  ): Promise<ViewResult> {
    const { view, sources } = this.planned;
    this.context.moved.set(view.name.toLowerCase(), {
      snapshot: written.snapshot,
      built: { fingerprint: view.definition.fingerprint, layout: view.definition.layout, table },
    });
    await this.context.history.extend(this.context.session, written.snapshot);
    for (const name of this.deltas.keys()) {
      await this.context.session.run(`DROP TABLE IF EXISTS temp.${quoteIdentifier(this.deltaName(name))}`);
    }
    const counted = (view.definition.layout.counted ?? []).map((_, position) => countedDifference(position));
    for (const difference of [DIFFERENCE, ...counted]) {
      await this.context.session.run(`DROP TABLE IF EXISTS temp.${quoteIdentifier(difference)}`);
    }
    return {
      view: view.name,
      status: "refreshed",
      strategy,
      reason,
      sources: sources.map((source) => sourceResult(source, this.deltas.get(source.defined.name) ?? null)),
      terms,
      rows: { inserted: written.inserted, deleted: written.deleted },
      ...(this.log === null ? {} : { log: logResult(this.log) }),
      elapsedMs: 0,
      error: null,
    };
  }
}

function widestJoin(relation: Relation): number {
  const own = relation.kind === "join" ? relation.inputs.length : 0;
  return Math.max(own, ...inputsOf(relation).map(widestJoin));
}
