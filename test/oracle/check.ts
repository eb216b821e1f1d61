/** One seed, one scenario: generated, examined on plain DuckDB, run on a lake, and shrunk where it fails. */

import * as fc from "fast-check";
import { scenarios } from "./generate/arbitrary.js";
import { type History, printHistory } from "./history.js";
import { examine, type Objection } from "./plain.js";
import { type RunRecord, runHistory } from "./run.js";
import { toHistory } from "./scenario.js";

export type Outcome =
  | { readonly kind: "passed"; readonly record: RunRecord }
  | { readonly kind: "discarded"; readonly objection: Objection }
  | { readonly kind: "failed"; readonly failure: Failure };

export interface Failure {
  readonly seed: number;
  /** The smallest history that still fails. */
  readonly history: History;
  readonly message: string;
  /** True where all tables were taken for large ones. */
  readonly large: boolean;
}

export interface CheckOptions {
  /** Time for making a failing history smaller. */
  readonly shrinkMs: number;
  /** What is said of it where the history fails; the caller has made it so. */
  readonly large?: boolean;
}

export async function check(seed: number, options: CheckOptions): Promise<Outcome> {
  let objection: Objection | null = null;
  let record: RunRecord | null = null;
  let deadline = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(scenarios(), async (scenario) => {
    // Past the deadline every smaller form counts as fine, which ends the search.
    if (Date.now() > deadline) return;
    const history = toHistory(scenario);
    const shrinking = Number.isFinite(deadline);
    const found = await examine(history);
    if (found !== null) {
      if (!shrinking) objection = found;
      return;
    }
    try {
      record = await runHistory(history);
    } catch (error) {
      // Only now is it worth knowing whether the views have a single answer at all.
      const unstable = await examine(history, true);
      if (unstable !== null) {
        if (!shrinking) objection = unstable;
        return;
      }
      if (!shrinking) deadline = Date.now() + options.shrinkMs;
      throw error;
    }
  });
  // Neighbouring seeds would start with nearly the same random numbers.
  const details = await fc.check(property, { seed: Math.imul(seed, 0x9e3779b1), numRuns: 1 });
  if (details.failed) {
    const [scenario] = details.counterexample ?? [];
    if (scenario === undefined) throw details.errorInstance;
    const message =
      details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance);
    return { kind: "failed", failure: { seed, history: toHistory(scenario), message, large: options.large === true } };
  }
  if (objection !== null) return { kind: "discarded", objection };
  if (record === null) throw new Error("the history did not run");
  return { kind: "passed", record };
}

export function printFailure(failure: Failure): string {
  return [
    `-- seed ${failure.seed}; replay with: npm run fuzz -- --runs 1 --seed ${failure.seed}${failure.large ? " --large" : ""}`,
    printHistory(failure.history),
    ...failure.message.split("\n").map((line) => `-- ${line}`),
  ].join("\n");
}
