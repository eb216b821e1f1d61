/** Runs one history through the library on a lake of its own and compares after every refresh. */

import type { DuckDBConnection } from "@duckdb/node-api";
import { type Lake, open, type RefreshOptions, type RefreshResult } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";
import { asksTime } from "./generate/time.js";
import type { History, HistoryEvent } from "./history.js";
import { Reference } from "./reference.js";

/** The library did something else than DuckDB. */
export class Mismatch extends Error {}

/** What the refreshes of a history did, to see that the random tests reach what they are for. */
export interface RunRecord {
  readonly refreshes: RefreshResult[];
}

export async function runHistory(history: History): Promise<RunRecord> {
  await using place = await tempLake();
  const lake = await open({ ...place.config, engine: { threads: 1 } });
  const [writer, oracle] = [await lake.connect(), await lake.connect()];
  try {
    const run = new Run(lake, history, writer);
    await run.setUp(oracle);
    for (const [index, event] of history.events.entries()) await run.apply(event, `event ${index + 1}`);
    await run.settle();
    return run.record;
  } finally {
    writer.closeSync();
    oracle.closeSync();
    await lake.close();
  }
}

class Run {
  readonly record: RunRecord = { refreshes: [] };
  private mark: bigint | null = null;
  private reference: Reference | null = null;

  constructor(
    private readonly lake: Lake,
    private readonly history: History,
    private readonly writer: DuckDBConnection,
  ) {}

  async setUp(oracle: DuckDBConnection): Promise<void> {
    const { inlining, setup, views } = this.history;
    if (inlining !== null) await this.writer.run(`CALL lake.set_option('data_inlining_row_limit', ${inlining})`);
    for (const event of setup) await this.apply(event, "setup");
    const ddl = setup.flatMap((event) => (event.kind === "transaction" ? event.sql : []));
    const plainViews = ddl.filter((sql) => sql.startsWith("CREATE VIEW "));
    this.reference = await Reference.create(oracle, this.lake.name, views, plainViews);
    await called("define", () => this.lake.define(views)).catch((error: unknown) => this.defineLeniently(error, views));
  }

  /**
   * A HAVING that names both a column and an alias has two readings, and is left to a recompute; the generators can't
   * tell that they make one. Any other refusal of `refresh: incremental` is a rule that is missing.
   */
  private async defineLeniently(error: unknown, views: History["views"]): Promise<void> {
    if (!String((error as Error).message).includes("is both a column and a select alias")) throw error;
    await called("define", () => this.lake.define(views.map((view) => ({ ...view, refresh: "auto" as const }))));
  }

  async apply(event: HistoryEvent, place: string): Promise<void> {
    switch (event.kind) {
      case "transaction":
        return this.transaction(event.sql);
      case "maintenance":
        await this.writer.run(event.sql);
        return;
      case "mark":
        this.mark = await this.snapshot();
        return;
      case "refresh": {
        const to = event.toMark ? this.mark : null;
        await this.refresh(place, event.views, to);
      }
    }
  }

  /** A second refresh finds nothing to do, and the library's own check agrees. */
  async settle(): Promise<void> {
    const last = this.history.events.at(-1);
    const done = last?.kind === "refresh" && last.views === null && !last.toMark;
    if (!done) await this.refresh("last refresh", null, null);
    const before = await this.snapshot();
    // For a view that asks for the time every later snapshot is something to do.
    const timed = this.history.views.some((view) => asksTime(view.sql));
    const horizon = this.record.refreshes.at(-1)?.horizon;
    const options = timed && horizon !== undefined ? { toSnapshot: horizon } : {};
    const again = await called("refresh again", () => this.lake.refresh(options));
    if (again.status !== "unchanged") throw new Mismatch(`a refresh right after a refresh says ${again.status}`);
    if ((await this.snapshot()) !== before) throw new Mismatch("a refresh with nothing to do made a snapshot");
    for (const result of await called("verify", () => this.lake.verify())) {
      if (!result.ok)
        throw new Mismatch(`verify: ${result.view}: ${JSON.stringify(result.error ?? result.differences)}`);
    }
  }

  private async refresh(place: string, views: readonly string[] | null, to: bigint | null): Promise<void> {
    const horizon = to ?? (await this.snapshot());
    const options: RefreshOptions = {
      ...(views === null ? {} : { views }),
      ...(to === null ? {} : { toSnapshot: to }),
    };
    const result = await called(place, () => this.lake.refresh(options));
    this.record.refreshes.push(result);
    const failed = result.views.filter((view) => view.status === "failed");
    if (failed.length > 0) {
      throw new Mismatch(failed.map((view) => `${place}: ${view.view} failed: ${view.error?.message}`).join("\n"));
    }
    if (result.horizon !== horizon) throw new Mismatch(`${place}: horizon ${result.horizon}, expected ${horizon}`);
    const refreshed = result.views.map((view) => view.view);
    for (const view of views ?? this.history.views.map((each) => each.name)) {
      if (!refreshed.includes(view)) throw new Mismatch(`${place}: ${view} is not in the result`);
    }
    await this.reference?.evaluate(horizon, refreshed);
    for (const { name } of this.history.views) {
      const difference = await this.reference?.compare(name);
      if (difference === null || difference === undefined) continue;
      const how = result.views.find((view) => view.view === name);
      throw new Mismatch(`${place}: ${name} (${how?.strategy ?? how?.status ?? "not refreshed"}): ${difference}`);
    }
  }

  private async transaction(sql: readonly string[]): Promise<void> {
    if (sql.length > 1) await this.writer.run("BEGIN");
    for (const statement of sql) await this.writer.run(statement);
    if (sql.length > 1) await this.writer.run("COMMIT");
  }

  private async snapshot(): Promise<bigint> {
    const reader = await this.writer.runAndReadAll(`FROM ducklake_current_snapshot('${this.lake.name}')`);
    return BigInt(String(reader.getRowsJS()[0]?.[0]));
  }
}

async function called<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new Mismatch(`${what} raised ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`, {
      cause: error,
    });
  }
}
