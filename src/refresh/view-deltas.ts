import { WEIGHT } from "../catalog/consolidate.js";
import { loadDifference, type SourceDelta } from "../catalog/source-delta.js";
import { tableAtVersion } from "../catalog/tables.js";
import { loadLoggedDelta } from "../log/read.js";
import { isLimited } from "../view/layout.js";
import { visibleDelta, visibleSelect } from "../view/visible.js";
import { type PlannedSource, type PlannedView, type RunContext, readersOf, usedColumns } from "./plan-run.js";

/** The deltas of one view's sources, each in a temporary table. */
export class ViewDeltas {
  private readonly loaded = new Map<string, SourceDelta>();
  private dropped = false;

  constructor(
    private readonly context: RunContext,
    private readonly planned: PlannedView,
  ) {}

  /** Reads the windows of all sources that changed. */
  async load(): Promise<void> {
    for (const source of this.planned.sources) {
      if (source.state.kind !== "changed") continue;
      const delta = await this.loadDelta(source);
      const { name } = source.defined;
      this.loaded.set(name, delta);
      const { method, rows } = delta;
      this.context.notify({ kind: "delta_read", view: this.planned.view.name, source: name, method, rows });
    }
  }

  /** Undefined for a source whose window was not read. */
  of(source: string): SourceDelta | undefined {
    return this.loaded.get(source);
  }

  /** True where the window holds rows that the view can see. */
  changed(source: string): boolean {
    return (this.of(source)?.rows ?? 0n) > 0n;
  }

  /** The temporary table's name. It is by position: a source's own name may be too long or too odd. */
  table(source: string): string {
    return `ivm_delta_${this.planned.sources.findIndex((candidate) => candidate.defined.name === source) + 1}`;
  }

  /** The temporary tables that are still there. */
  get tables(): readonly string[] {
    return this.dropped ? [] : [...this.loaded.keys()].map((name) => this.table(name));
  }

  /** Drops the tables; what is known of the deltas stays. */
  async drop(): Promise<void> {
    await this.context.session.dropTemporary(this.tables);
    this.dropped = true;
  }

  private async loadDelta(source: PlannedSource): Promise<SourceDelta> {
    const { session, engine, shared } = this.context;
    const { state, from, layout } = source;
    if (state.kind !== "changed" || from === null)
      throw new TypeError("only a changed source with a cursor has a delta");
    const target = this.table(source.defined.name);
    const used = usedColumns(this.planned.view, source.defined);
    if (source.logged !== null) return this.loadLogged(source, source.logged, used, target);
    const { method, reason, inlined } = state;
    const window = { table: source.table, tableId: source.identity.id, from, to: source.to };
    const request = { ...window, method, reason, inlined, target };
    const { columns, readers } = readersOf(this.context, source.defined);
    if (layout === null) return shared.load(session, engine, { ...request, columns: used }, columns, readers);
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
    return shared.load(session, engine, { ...request, columns: physical, shape }, physical, readers);
  }

  private async loadLogged(
    { state }: PlannedSource,
    logged: NonNullable<PlannedSource["logged"]>,
    used: readonly string[],
    target: string,
  ): Promise<SourceDelta> {
    const { session, logs } = this.context;
    if (logs === undefined) throw new TypeError("a window of a log needs the log");
    const rows = await loadLoggedDelta(session, logs.store, logged.state.schema, logged.read, used, target, WEIGHT);
    const reason = state.kind === "changed" ? state.reason : null;
    return { rows, method: "log", reason };
  }
}
