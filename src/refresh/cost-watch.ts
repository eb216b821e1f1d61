import type { DuckDBConnection } from "@duckdb/node-api";
import { type CostChoice, type CostStrategy, type Measurement, SMALL_ROWS } from "../plan/cost.js";
import type { Strategy } from "../types.js";
import { storedCosts } from "./cost.js";
import type { PlannedView } from "./plan-run.js";

/** An incremental refresh that was chosen by cost is given up when it takes so many times what a recompute should. */
const GIVEN_UP_FACTOR = 3;
const GIVEN_UP_MS = 2000;
const INTERRUPT_EVERY_MS = 100;

/** Ends an incremental refresh that turned out to be dearer than a recompute. */
export class GivenUp extends Error {}

/** Times one refresh of a view against what it was estimated at. */
export class CostWatch {
  /** What this refresh has measured before it was done: an attempt that was given up. */
  private readonly measured: Omit<Measurement, "refresh">[] = [];

  /**
   * @param choice null where there is nothing to estimate.
   * @param began when the work that is measured began, in milliseconds of `performance.now`.
   */
  constructor(
    private readonly planned: PlannedView,
    readonly choice: CostChoice | null,
    private began: number,
  ) {}

  /** True where the estimates decide, and not the definition. */
  get mayChoose(): boolean {
    return this.planned.view.definition.refresh === "auto";
  }

  /** Runs an incremental computation, and gives it up where it takes much longer than a recompute would. @throws GivenUp */
  async whileCheap<T>(connection: DuckDBConnection, compute: () => Promise<T>): Promise<T> {
    if (!this.mayChoose || this.choice === null || this.choice.work.rows < SMALL_ROWS) return compute();
    const allowed = Math.max(GIVEN_UP_MS, GIVEN_UP_FACTOR * this.choice.recompute.ms);
    let late = false;
    // An interrupt between two statements hits neither, so it is repeated.
    const timer = setInterval(() => {
      if (performance.now() - this.began < allowed) return;
      late = true;
      connection.interrupt();
    }, INTERRUPT_EVERY_MS);
    try {
      return await compute();
    } catch (error) {
      if (!late) throw error;
      throw new GivenUp(`the rules were given up after ${Math.round(performance.now() - this.began)} ms`);
    } finally {
      clearInterval(timer);
    }
  }

  /** Notes what the work since the last note took. */
  measure(strategy: CostStrategy, initial = false): void {
    if (this.choice === null) return;
    const now = performance.now();
    this.measured.push({ ...this.choice.work, strategy, ms: now - this.began, ...(initial ? { initial } : {}) });
    this.began = now;
  }

  /** The view's history with this refresh, as JSON; called when all but the commit is done. */
  stored(strategy: Strategy, terms: number): string | null {
    // Moved cursors alone say nothing of what a change costs.
    if (strategy === "incremental") {
      if (terms > 0) this.measure(strategy);
    } else {
      this.measure("recompute", strategy === "initial");
    }
    return storedCosts(this.planned, this.measured);
  }
}
