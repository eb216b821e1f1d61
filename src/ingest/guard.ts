import { LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { ConflictError } from "../errors.js";
import { quoteLiteral } from "../sql/quote.js";
import type { StateTables } from "../view/state.js";
import type { Target } from "./target.js";

/**
 * Two writers that only insert, or only delete, get no conflict from DuckLake, though both compared with a table that
 * the other one changed; and two deletes at once can damage a table's history. So every writer by key updates one row
 * of a table of its own for each target: of two at once, one gets a conflict and compares again. A table each, since
 * two updates of one table are a conflict whichever rows they touch.
 */
export class WriteGuard {
  private readonly name: string;

  constructor(
    private readonly state: StateTables,
    target: Target,
  ) {
    this.name = `ingest_${target.schema}_${target.table}`.toLowerCase();
  }

  async exists(session: Session): Promise<boolean> {
    const { n } = await session.row<{ n: bigint }>(
      `SELECT count(*) AS n FROM duckdb_tables() WHERE database_name = ${quoteLiteral(LAKE_NAME)}
       AND schema_name = ${quoteLiteral(this.state.schema)} AND table_name = ${quoteLiteral(this.name)}`,
    );
    return n > 0n;
  }

  /** Creates the row, in commits of its own: the transactions that meet over it must both find it there. */
  async prepare(session: Session): Promise<void> {
    await this.state.prepare(session);
    if (await this.exists(session)) return;
    try {
      await session.run(`CREATE TABLE ${this.table} AS SELECT 0::BIGINT AS writes, NULL::VARCHAR AS last_commit`);
    } catch (error) {
      // Another writer's first merge was faster; the table is there now.
      if (!(await this.exists(session))) throw error;
    }
  }

  /** In the transaction that writes. */
  async hold(session: Session, commitId: string): Promise<void> {
    const held = await session.change(`UPDATE ${this.table} SET writes = writes + 1, last_commit = $1`, [commitId]);
    if (held > 0n) return;
    throw new ConflictError("moved", "The state of merges was removed in the meantime.", {
      hint: "Run the same command again.",
    });
  }

  private get table(): string {
    return this.state.table(this.name);
  }
}
