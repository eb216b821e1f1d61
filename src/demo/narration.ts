import type { DefineResult, VerifyResult } from "../types.js";
import type { DemoResult, Step, ViewTiming } from "./result.js";
import { conclusions, STEP_SUMMARY, stepSummary, trouble, VIEW_SUMMARY, viewSummary } from "./summary.js";
import { type Column, count, milliseconds, type Row, speedUp, sum, tableLines, wrapList } from "./text.js";
import type { DemoView } from "./views.js";

/** The few text styles of the demo; identity functions where the output is no terminal. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  green(text: string): string;
  red(text: string): string;
}

/** What the demo says, as lines; nothing here writes or measures. */
export class Narration {
  constructor(private readonly style: Style) {}

  introduction(): string[] {
    return [
      this.style.bold("ducklake-ivm: SQL views that keep up with a lake by reading only what changed"),
      "",
      "All flights that left New York City in 2013 arrive in a DuckLake lake month by month, the way data",
      "does: new rows, rows that come late, corrected rows, and rows that are taken back. Five SQL views",
      "are refreshed after each month. In the end each view is compared, row by row, with its own query.",
      "",
    ];
  }

  fact(name: string, text: string): string {
    return `${this.style.dim(name)}  ${text}`;
  }

  views(views: readonly DemoView[], { actions }: DefineResult): string[] {
    const rows = views.map(({ name, question }) => [name, question]);
    const others = actions.filter(({ strategy }) => strategy !== "incremental");
    return [
      "",
      ...this.table([{ title: "view" }, { title: "the question it answers" }], rows),
      ...(others.length === 0 ? ["  All of them can be refreshed incrementally."] : []),
      ...others.map(
        ({ view, reasons }) => `  ${view} can only be recomputed: ${reasons.map(({ text }) => text).join("; ")}`,
      ),
    ];
  }

  legend(): string[] {
    return [
      "",
      this.style.bold("How to read what follows"),
      "  rows + and -  rows added to the view and removed from it; a changed row is one of each",
      "  terms         a view of N joined tables changes by the sum of N terms, each reading what changed in",
      "                one of them; where a table has not changed, its term is skipped and nothing is read",
      "  refresh       time to bring the view up to date; for all views: the whole run",
      "  recompute     time to run the view's whole query instead, and to write the result as a table of the",
      "                same lake (CREATE OR REPLACE TABLE ... AS), just after the refresh of the same data",
      "  speed-up      recompute divided by refresh; below 1 the recompute is the faster one",
    ];
  }

  step(step: Step): string[] {
    const note = step.note === null ? [] : [this.style.dim(`  ${step.note}`)];
    const heading = ["", this.style.bold(step.name), ...note, ...changeLines(step)];
    if (step.status === "unchanged") {
      const skipped = sum(step.views, (view) => view.terms.skipped);
      return [
        ...heading,
        `  ${step.views.length} views unchanged, ${skipped} terms skipped, in ${milliseconds(step.refreshMs)}`,
      ];
    }
    const total: Row = [
      "all views",
      "",
      count(step.views.reduce((rows, view) => rows + view.rows.inserted, 0n)),
      count(step.views.reduce((rows, view) => rows + view.rows.deleted, 0n)),
      sum(step.views, (view) => view.terms.run),
      sum(step.views, (view) => view.terms.skipped),
      milliseconds(step.refreshMs),
      milliseconds(step.recomputeMs),
      speedUp(step.refreshMs, step.recomputeMs),
    ];
    return [...heading, ...this.table(STEP, [...step.views.map(viewRow), "rule", total]), ...this.failures(step)];
  }

  verified(results: readonly VerifyResult[]): string[] {
    const [first] = results;
    const tolerance =
      first === undefined
        ? []
        : [`  Everything must be equal, averages but for a relative error of ${first.tolerance}.`];
    const rows = results.map(({ view, rows, differenceCount, ok, error }) => [
      view,
      count(rows),
      count(differenceCount),
      ok ? "exact" : (error?.message ?? "WRONG"),
    ]);
    return [
      "",
      this.style.bold("Verify: each view against its own query over the tables, row by row"),
      ...tolerance,
      ...this.table(VERIFY, rows),
    ];
  }

  answers(lines: readonly string[]): string[] {
    return ["", this.style.bold("What the views say"), ...lines.map((line) => `  ${line}`)];
  }

  closing({ ok, steps, verified, totals, kept, elapsedMs }: DemoResult): string[] {
    const place =
      kept === null
        ? "The lake is removed again; with --keep it stays, as a project to try the other commands on."
        : `The lake stays. Try: ducklake-ivm explain route_delays --project-dir ${kept}`;
    const views = totals.months === 0 ? [] : ["", ...this.table(VIEW_SUMMARY, viewSummary(totals))];
    return [
      "",
      this.style.bold("Summary"),
      ...this.table(STEP_SUMMARY, stepSummary(steps, totals)),
      ...views,
      "",
      ...conclusions(steps, totals),
      "",
      ok ? this.style.green(`All ${verified.length} views are exact.`) : this.style.red(trouble(steps, verified)),
      "",
      `${(elapsedMs / 1000).toFixed(0)} seconds in all.`,
      place,
    ];
  }

  private table(columns: readonly Column[], rows: readonly (Row | "rule")[]): string[] {
    const [titles = "", ...lines] = tableLines(columns, rows);
    return [`  ${this.style.dim(titles)}`, ...lines.map((line) => `  ${line}`)];
  }

  private failures(step: Step): string[] {
    return step.views.flatMap(({ view, error }) =>
      error === null ? [] : [this.style.red(`  ${view}: ${error.message} ${error.hint ?? ""}`.trimEnd())],
    );
  }
}

// The widths are those of the widest cells to be expected, so that the tables of all months look alike.
const STEP: readonly Column[] = [
  { title: "view", width: 17 },
  { title: "how", width: 11 },
  { title: "rows +", align: "right" },
  { title: "rows -", align: "right" },
  { title: "terms run", align: "right" },
  { title: "skipped", align: "right" },
  { title: "refresh", align: "right", width: 9 },
  { title: "recompute", align: "right", width: 9 },
  { title: "speed-up", align: "right" },
];

const VERIFY: readonly Column[] = [
  { title: "view", width: 17 },
  { title: "rows", align: "right", width: 5 },
  { title: "wrong rows", align: "right" },
  { title: "result" },
];

function viewRow(view: ViewTiming): Row {
  return [
    view.view,
    view.strategy ?? view.status,
    count(view.rows.inserted),
    count(view.rows.deleted),
    String(view.terms.run),
    String(view.terms.skipped),
    milliseconds(view.refreshMs),
    milliseconds(view.recomputeMs),
    speedUp(view.refreshMs, view.recomputeMs),
  ];
}

function changeLines({ changes }: Step): string[] {
  const kinds = [...new Set(changes.map((change) => change.kind))];
  return kinds.flatMap((kind) => {
    const parts = changes.filter((change) => change.kind === kind).map(({ rows, what }) => `${count(rows)} ${what}`);
    return wrapList(`  ${kind.padEnd(9)}  `, parts);
  });
}
