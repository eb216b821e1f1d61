import { exactlyConsolidated } from "../catalog/consolidate.js";
import { loadSourceDelta, type SourceDelta, type SourceDeltaRequest } from "../catalog/source-delta.js";
import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";

/**
 * Source deltas of one run: where several views read the same window of a source, the lake is read once, with the
 * columns that any of them uses, and each view's delta is made from that.
 */
export class SharedDeltas {
  private readonly known = new Map<string, { readonly table: string; readonly delta: SourceDelta }>();

  /**
   * Fills `request.target` as `loadSourceDelta` does.
   * @param columns what all readers together use of the source.
   * @param readers how many views of the lake read the source.
   */
  async load(
    session: Session,
    engine: Engine,
    request: SourceDeltaRequest,
    columns: readonly string[],
    readers: number,
  ): Promise<SourceDelta> {
    if (readers < 2) return loadSourceDelta(session, engine, request);
    const { table, from, to, method, target } = request;
    const key = JSON.stringify([table.schema, table.table, String(from), String(to), method, columns]);
    let shared = this.known.get(key);
    if (shared === undefined) {
      const name = `ivm_shared_${this.known.size + 1}`;
      const { shape: _, ...raw } = request;
      shared = { table: name, delta: await loadSourceDelta(session, engine, { ...raw, columns, target: name }) };
      this.known.set(key, shared);
    }
    const rows = `SELECT * FROM ${quotePath(["temp", shared.table])}`;
    const own = request.shape?.columns ?? request.columns;
    const select = await exactlyConsolidated(session, own, request.shape?.select(rows) ?? rows);
    await session.run(`CREATE OR REPLACE TEMP TABLE ${quoteIdentifier(target)} AS ${select}`);
    const { n } = await session.row<{ n: bigint }>(`SELECT count(*) AS n FROM temp.${quoteIdentifier(target)}`);
    return { ...shared.delta, rows: n };
  }

  /** Forgets everything: after a rollback, which takes temporary tables away too. */
  forget(): void {
    this.known.clear();
  }

  /** Drops the tables, at the end of a run. */
  async drop(session: Session): Promise<void> {
    await session.dropTemporary([...this.known.values()].map(({ table }) => table));
    this.forget();
  }
}
