import { LogWriter } from "../log/writer.js";
import { planReadsClock, sourceScansOf } from "../plan/recursion.js";
import { inputsOf, type Relation } from "../plan/relation.js";
import { hasRecursion } from "../sql/ast.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { PartitionCounts, Reason, Strategy, ViewResult } from "../types.js";
import { besideTables } from "../view/beside.js";
import type { Layout } from "../view/layout.js";
import type { ViewPlan } from "../view/plan-view.js";
import { type ComputeInput, computeIncremental, computeRecompute, definedRows, statementOf } from "./compute.js";
import { costReason, costResult, estimateCosts } from "./cost.js";
import { CostWatch, GivenUp } from "./cost-watch.js";
import { DIFFERENCE } from "./difference.js";
import { OLD_GROUPS } from "./fold.js";
import { incrementalFailure } from "./incremental-failure.js";
import { findLarge, NOTHING_LARGE } from "./large-tables.js";
import { isFileMissing, lostFile } from "./lost-files.js";
import { upstreamOf } from "./order.js";
import { besidePaths, physicalName, physicalTable } from "./physical.js";
import { instantsOf, type PlannedView, type RunContext } from "./plan-run.js";
import { recursionTables } from "./recursion.js";
import { countTerms, logResult, NO_TERMS, sourceResult } from "./results.js";
import { requireSameColumns } from "./same-columns.js";
import type { Instants, RunSource } from "./sources.js";
import { TABLE_ALTERED } from "./stored-table.js";
import type { TamperedView } from "./tampering.js";
import { ViewDeltas } from "./view-deltas.js";
import { writeCursors, writeDifference, writeNew } from "./write.js";
import type { WriteInput, Written } from "./write-input.js";

/** The reason of a recompute that was asked for. */
export const FULL_REFRESH = "full_refresh";

/** Beyond so many inputs of a join the order that DuckDB finds by its estimates is worse than the written one. */
const MOST_REORDERED = 10;

/** True where the same tables hold what two layouts ask for. */
function sameTables(one: Layout, other: Layout): boolean {
  const columns = (layout: Layout) => [layout.columns, ...besideTables(layout, "").map((table) => table.columns)];
  return JSON.stringify(columns(one)) === JSON.stringify(columns(other));
}

/** The refresh of one view, from its windows to the commit. */
export class ViewWork {
  private readonly deltas: ViewDeltas;
  private watch: CostWatch;
  private log: LogWriter | null = null;
  private partitions: PartitionCounts | null = null;
  /** True where the rows of the view's tables can't even be compared with what they should be. */
  private unreadable: boolean;
  private large = NOTHING_LARGE;

  constructor(
    private readonly context: RunContext,
    private readonly planned: PlannedView,
    private readonly runId: string,
    private readonly startedAt: number,
  ) {
    this.deltas = new ViewDeltas(context, planned);
    this.unreadable = this.tampered?.tables?.unreadable === true;
    this.watch = new CostWatch(planned, null, startedAt);
  }

  async run(): Promise<ViewResult> {
    try {
      return await this.attempt();
    } catch (error) {
      const { built } = this.planned.view;
      if (built === null || !isFileMissing(error)) throw error;
      await this.beginAgain();
      const reason = await lostFile(this.context.session, this.context.tables, built, error);
      if (reason === null) throw error;
      this.unreadable = true;
      return this.recompute(reason);
    }
  }

  private async attempt(): Promise<ViewResult> {
    const { strategy, reason } = this.planned;
    const choice = await estimateCosts(this.context, this.planned);
    this.watch = new CostWatch(this.planned, choice, this.startedAt);
    this.large = await findLarge(this.context, this.planned, choice);
    this.log = await this.openLog();
    if (strategy === "initial") return this.build("initial", null);
    if (strategy === "recompute") return this.recompute(reason);
    if (this.watch.mayChoose && choice?.strategy === "recompute") return this.recompute(costReason(choice));
    try {
      return await this.incremental();
    } catch (error) {
      const reason = incrementalFailure(error);
      if (reason === null) throw error;
      if (error instanceof GivenUp) this.watch.measure("incremental");
      await this.beginAgain();
      return this.recompute(reason);
    }
  }

  /** What was read so far may be half of it. */
  private async beginAgain(): Promise<void> {
    const { session, engine } = this.context;
    await session.endReading(false);
    this.context.shared.forget();
    if (engine.readsTogether) session.beginReading();
  }

  async moveCursors(): Promise<void> {
    const { built } = this.planned.view;
    if (built === null) throw new TypeError("a view that has consumed anything has a table");
    this.log = await this.openLog();
    const terms = countTerms(this.planned.view.definition.plan, () => false, false);
    const written = await writeCursors(this.writeInput("incremental", null, terms), built);
    this.context.moved.set(this.planned.view.name.toLowerCase(), { ...written, built });
  }

  private async incremental(): Promise<ViewResult> {
    const { plan } = this.planned.view.definition;
    const { built } = this.planned.view;
    if (plan === null || built === null) throw new TypeError("an incremental refresh needs a plan and a table");
    await this.deltas.load();
    const { instants } = this;
    const terms = countTerms(plan, (source) => this.deltas.changed(source), instants.old !== instants.new);
    let written: Written;
    if (terms.run === 0) {
      written = await writeCursors(this.writeInput("incremental", null, terms), built);
    } else {
      const { engine, session } = this.context;
      this.tellComputing("incremental", this.changedTerms(plan));
      const compute = () => computeIncremental(this.computeInput(), plan);
      const asWritten = widestJoin(plan.relation) > MOST_REORDERED;
      this.partitions = await this.watch.whileCheap(session.connection, () =>
        asWritten ? engine.rules.joiningAsWritten(session, compute) : compute(),
      );
      await this.deltas.drop();
      this.tellWriting("incremental");
      written = await writeDifference(this.writeInput("incremental", null, terms), built, false, this.presentRows);
    }
    return this.finish("incremental", null, terms, written, built.table);
  }

  private async recompute(reason: Reason | null): Promise<ViewResult> {
    const { built, definition } = this.planned.view;
    // What is found to be wrong in the view's tables may not be wrong in its log.
    if (reason?.code === TABLE_ALTERED || reason?.code === FULL_REFRESH) this.log = await this.openLog(true);
    if (reason?.code === "source_schema_changed") await requireSameColumns(this.computeInput(), reason);
    if (built === null || this.unreadable) return this.build("recompute", reason);
    if (!sameTables(built.layout, definition.layout)) return this.build("recompute", reason);
    // The same table may stand for other visible rows: another HAVING, another expression over the same state.
    const rebuilt = built.fingerprint !== definition.fingerprint;
    this.tellComputing("recompute", []);
    await this.evaluating(() => computeRecompute(this.computeInput()));
    if (this.mayStay && !(await this.differs(built.table))) {
      // A full refresh that was asked for has found the view to be right: nothing moves, and its log stays as it is.
      return this.finish("recompute", reason, NO_TERMS, null, built.table);
    }
    this.tellWriting("recompute");
    const written = await writeDifference(this.writeInput("recompute", reason, NO_TERMS), built, rebuilt);
    return this.finish("recompute", reason, NO_TERMS, written, built.table);
  }

  private async build(strategy: Strategy, reason: Reason | null): Promise<ViewResult> {
    const compute = this.computeInput();
    const input = this.writeInput(strategy, reason, NO_TERMS);
    const written = await this.evaluating(async () => {
      const { physical, beside } = await definedRows(compute);
      // Rows are computed while they are written.
      this.tellComputing(strategy, []);
      const besideRows = beside.map(({ rows }) => rows);
      return writeNew(input, physical, besideRows, this.unreadable ? null : this.planned.view.built);
    });
    return this.finish(strategy, reason, NO_TERMS, written, physicalName(this.planned.view.name));
  }

  /** Runs work that evaluates the whole definition. */
  private evaluating<Result>(work: () => Promise<Result>): Promise<Result> {
    const { engine, session } = this.context;
    return hasRecursion(statementOf(this.planned.view.definition)) ? engine.rules.recursing(session, work) : work();
  }

  private changedTerms(plan: ViewPlan): string[] {
    const scans = sourceScansOf(plan).filter((scan) => this.deltas.changed(scan.source));
    const { instants } = this;
    const clock = planReadsClock(plan) && instants.old !== instants.new ? ["now()"] : [];
    return [...scans.map((scan) => scan.alias), ...clock];
  }

  private tellComputing(strategy: Strategy, terms: readonly string[]): void {
    this.context.notify({ kind: "computing", view: this.planned.view.name, strategy, terms });
  }

  private tellWriting(strategy: Strategy): void {
    this.context.notify({ kind: "writing", view: this.planned.view.name, strategy });
  }

  private async openLog(altered = false): Promise<LogWriter | null> {
    const { logs, session, horizon } = this.context;
    const { view, progress } = this.planned;
    if (logs === undefined) return null;
    const run = { id: this.runId, from: progress.horizon, horizon, altered };
    return LogWriter.open(logs, session, view.definition, run, this.context.logStates.get(view.name));
  }

  private computeInput(): ComputeInput {
    const { definition, built } = this.planned.view;
    const sources = new Map<string, RunSource>();
    for (const source of this.planned.sources) {
      const changed = this.deltas.changed(source.defined.name);
      sources.set(source.defined.name, {
        name: source.defined.name,
        table: source.table,
        layout: source.layout,
        from: changed ? (source.from ?? source.to) : source.to,
        to: source.to,
        delta: changed ? this.deltas.table(source.defined.name) : null,
        oldLost: source.logged !== null,
      });
    }
    const physical = built?.table ?? physicalName(definition.name);
    return {
      session: this.context.session,
      engine: this.context.engine,
      definition,
      sources,
      table: physicalTable(this.context.tables, physical),
      ...besidePaths(this.context.tables, definition.layout, physical),
      large: this.large,
      instants: this.instants,
    };
  }

  private get instants(): Instants {
    return instantsOf(this.context, this.planned.progress);
  }

  private writeInput(strategy: Strategy, reason: Reason | null, terms: ViewResult["terms"]): WriteInput {
    const { context, planned } = this;
    const { choice } = this.watch;
    const sources = planned.sources.map(({ defined, from, to }) => {
      const delta = this.deltas.of(defined.name);
      return {
        source: defined.name,
        from: from === null ? null : String(from),
        to: String(to),
        delta: delta?.method ?? null,
        deltaReason: delta?.reason?.code ?? null,
        deltaRows: String(delta?.rows ?? 0n),
      };
    });
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
      large: this.large,
      restoresUserView: this.restoresUserView,
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
        terms: JSON.stringify({
          ...terms,
          ...(this.partitions === null ? {} : { partitions: printCounts(this.partitions) }),
          cost: choice === null ? null : costResult(choice),
        }),
        startedAt: this.startedAt,
        costs: () => this.watch.stored(strategy, terms.run),
      },
    };
  }

  /** The temporary tables with what changes in the view's tables. */
  private differences(physical: string): string[] {
    const beside = besideTables(this.planned.view.definition.layout, physical);
    return [DIFFERENCE, ...beside.map(({ difference }) => difference)];
  }

  /** The temporary table with the view's own rows that may go, which the rules for groups read; undefined for other views. */
  private get presentRows(): string | undefined {
    return this.planned.view.definition.layout.groups === null ? undefined : OLD_GROUPS;
  }

  /** True where nothing has changed that the view reads, and its change log stands where it does. */
  private get mayStay(): boolean {
    const { logs, logStates } = this.context;
    const { view, progress, upToDate } = this.planned;
    return (
      upToDate === true &&
      !this.restoresUserView &&
      (logs === undefined || logStates.get(view.name)?.end === progress.horizon)
    );
  }

  private get tampered(): TamperedView | undefined {
    return this.context.tampered.get(this.planned.view.name.toLowerCase());
  }

  private get restoresUserView(): boolean {
    return this.tampered?.userView === "gone";
  }

  private async differs(physical: string): Promise<boolean> {
    for (const difference of this.differences(physical)) {
      const rows = await this.context.session.rows(`SELECT 1 FROM temp.${quoteIdentifier(difference)} LIMIT 1`);
      if (rows.length > 0) return true;
    }
    return false;
  }

  private async finish(
    strategy: Strategy,
    reason: Reason | null,
    terms: ViewResult["terms"],
    written: Written | null,
    table: string,
  ): Promise<ViewResult> {
    const { view, sources } = this.planned;
    if (written !== null) {
      this.context.moved.set(view.name.toLowerCase(), {
        snapshot: written.snapshot,
        built: { fingerprint: view.definition.fingerprint, layout: view.definition.layout, table },
      });
    } else {
      this.context.standing.add(view.name.toLowerCase());
    }
    await this.context.session.dropTemporary([
      ...this.deltas.tables,
      ...this.differences(table),
      ...(this.presentRows === undefined ? [] : [this.presentRows]),
      ...recursionTables(view.definition.plan),
    ]);
    return {
      view: view.name,
      status: "refreshed",
      strategy,
      reason,
      upstream: upstreamOf(view),
      sources: sources.map((source) => sourceResult(source, this.deltas.of(source.defined.name) ?? null)),
      terms,
      ...(this.partitions === null ? {} : { partitions: this.partitions }),
      rows: { inserted: written?.inserted ?? 0n, deleted: written?.deleted ?? 0n },
      ...(this.log === null ? {} : { log: logResult(this.log) }),
      elapsedMs: 0,
      error: null,
    };
  }
}

function printCounts({ resumed, reread }: PartitionCounts): Readonly<Record<string, string>> {
  return { resumed: String(resumed), reread: String(reread) };
}

function widestJoin(relation: Relation): number {
  const own = relation.kind === "join" ? relation.inputs.length : 0;
  return Math.max(own, ...inputsOf(relation).map(widestJoin));
}
