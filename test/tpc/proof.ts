import { Session } from "../../src/engine/session.js";
import { open } from "../../src/index.js";
import type { DefineAction, ViewResult } from "../../src/types.js";
import { Reference } from "../oracle/reference.js";
import { tempLake } from "../setup/lake.js";
import { type Benchmark, benchmarkQueries, loadData } from "./benchmark.js";
import { changeEverything } from "./changes.js";
import { totallyOrdered } from "./total-order.js";

export interface Proof {
  readonly definitions: readonly DefineAction[];
  readonly rounds: readonly Round[];
}

interface Round {
  readonly views: readonly ViewResult[];
  /** Views that failed or differ from their query, with what is wrong. */
  readonly wrong: readonly string[];
  readonly refreshMs: number;
}

export interface ProofOptions {
  readonly scale: number;
  readonly rounds: number;
}

/** The full setting where it is asked for by `npm run tpc`, else the one that every test run can afford. */
export function size(full: ProofOptions, small: ProofOptions): ProofOptions {
  return process.env["IVM_TPC"] === "full" ? full : small;
}

/** The definitions that rules keep. */
export function kept(proof: Proof, benchmark: Benchmark): DefineAction[] {
  return proof.definitions.filter(
    (definition) => definition.strategy === "incremental" && !benchmark.dear.includes(definition.view),
  );
}

/** Defines every query of a benchmark as a view, and compares all of them with DuckDB's own answers after each round. */
export async function prove(benchmark: Benchmark, { scale, rounds }: ProofOptions): Promise<Proof> {
  await using place = await tempLake();
  await using lake = await open(place.config);
  const writer = await lake.connect();
  const oracle = await lake.connect();
  try {
    await loadData(writer, lake.name, benchmark, scale);
    const session = new Session(writer);
    const queries = [];
    for (const query of await benchmarkQueries(writer, benchmark)) queries.push(await totallyOrdered(session, query));
    const { actions } = await lake.define(queries, { dryRun: true });
    const byRule = (name: string): boolean =>
      actions.find((action) => action.view === name)?.strategy === "incremental" && !benchmark.dear.includes(name);
    // By rule wherever there is one that pays: the choice of cost would recompute what is small.
    await lake.define(queries.map((query) => ({ ...query, refresh: byRule(query.name) ? "incremental" : "auto" })));
    const reference = await Reference.create(oracle, lake.name, queries);
    const results: Round[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      if (round > 0) await changeEverything(writer, benchmark, round);
      const { horizon, views, elapsedMs } = await lake.refresh();
      const names = queries.map((query) => query.name);
      await reference.evaluate(horizon, names);
      const wrong = views.filter((view) => view.error !== null).map((view) => `${view.view}: ${view.error?.message}`);
      for (const name of names) {
        if (wrong.some((text) => text.startsWith(`${name}:`))) continue;
        const difference = await reference.compare(name);
        if (difference !== null) wrong.push(`${name}: ${difference}`);
      }
      results.push({ views, wrong, refreshMs: elapsedMs });
      console.log(`round ${round} of ${rounds}: ${wrong.length} wrong, refreshed in ${Math.round(elapsedMs)} ms`);
    }
    return { definitions: actions, rounds: results };
  } finally {
    writer.closeSync();
    oracle.closeSync();
  }
}
