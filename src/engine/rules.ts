import pLimit from "p-limit";
import { quoteLiteral } from "../sql/quote.js";
import type { Session } from "./session.js";

/**
 * Rules of DuckDB's optimizer that give wrong rows: two read today's column statistics for old snapshots (ducklake
 * issue 1377), the third loses rows of `row_number() … <= n` over NULLs (duckdb issue 24363).
 */
const UNSAFE_OPTIMIZERS = "statistics_propagation,compressed_materialization,top_n_window_elimination";

/**
 * In DuckDB 1.5.5 a join's dynamic filter reaches the rows below an ORDER BY … LIMIT on its other side, so that the
 * limit picks among the wrong rows, now and then. The rule is too useful to be off everywhere.
 */
const UNSAFE_WITH_LIMIT = "join_filter_pushdown";

/** Switches off what gives wrong rows in DuckDB. All of it are settings of the whole instance, whichever session sets them. */
export class EngineRules {
  /** Rules that are off for work that is going on, once for each; the setting is one of the whole instance. */
  private readonly rulesOff: string[] = [];
  private readonly settings = pLimit(1);
  /** Recursions that are being evaluated, and the threads that there were before the first of them. */
  private recursions = 0;
  private threads = 0n;

  /** Runs work whose statements join rows behind a LIMIT. */
  readingLimits<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
    return this.without(session, UNSAFE_WITH_LIMIT, work);
  }

  /** Runs work whose statements join in the order in which they are written. */
  joiningAsWritten<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
    return this.without(session, "join_order", work);
  }

  /**
   * Runs work whose statements evaluate recursive common table expressions, with one thread: with several, DuckDB 1.5.5
   * now and then begins a round before the groups, the DISTINCT rows or the first rows (LIMIT) that its step reads of
   * other tables are there, and ends the recursion too early. The number of threads is the whole instance's.
   */
  async recursing<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
    await this.settings(async () => {
      this.recursions += 1;
      if (this.recursions > 1) return;
      ({ threads: this.threads } = await session.row<{ threads: bigint }>(
        "SELECT CAST(current_setting('threads') AS BIGINT) AS threads",
      ));
      await session.run("SET threads = 1");
    });
    try {
      return await work();
    } finally {
      await session.despiteAbort(() =>
        this.settings(async () => {
          this.recursions -= 1;
          if (this.recursions === 0) await session.run(`SET threads = ${this.threads}`);
        }),
      );
    }
  }

  private async without<Result>(session: Session, rule: string, work: () => Promise<Result>): Promise<Result> {
    this.rulesOff.push(rule);
    try {
      await this.disable(session);
      return await work();
    } finally {
      this.rulesOff.splice(this.rulesOff.indexOf(rule), 1);
      await session.despiteAbort(() => this.disable(session));
    }
  }

  /** One after the other, so that the last one to be run is the one that knows all. */
  disable(session: Session): Promise<void> {
    return this.settings(async () => {
      const rules = [UNSAFE_OPTIMIZERS, ...new Set(this.rulesOff)].join(",");
      await session.run(`SET disabled_optimizers = ${quoteLiteral(rules)}`);
    });
  }
}
