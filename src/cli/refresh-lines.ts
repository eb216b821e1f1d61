/** What a refresh did or would do, for a person. */
import type { RefreshResult, SourceResult, ViewResult } from "../types.js";
import { count, duration, errorLines, orDash, table } from "./format.js";
import type { Style } from "./style.js";

export function refreshLines(result: RefreshResult, style: Style): string[] {
  if (result.views.length === 0) {
    return nothingApplied(style);
  }
  const titles = ["VIEW", "STATUS", "STRATEGY", "INSERTED#", "DELETED#", "TERMS#", "TIME#", "WHY"];
  const rows = result.views.map((view) => [
    view.view,
    statusText(view, style, "refreshed"),
    orDash(view.strategy),
    view.status === "refreshed" ? view.rows.inserted.toLocaleString("en-US") : "-",
    view.status === "refreshed" ? view.rows.deleted.toLocaleString("en-US") : "-",
    termsText(view),
    duration(view.elapsedMs),
    view.reason?.text ?? "",
  ]);
  return [
    ...table(titles, rows, style),
    ...remarks(result, style),
    "",
    `${summary(result, style, "refreshed")}; snapshot ${result.horizon}, ${duration(result.elapsedMs)}, run ${result.runId}`,
  ];
}

export function dryRefreshLines(result: RefreshResult, style: Style): string[] {
  if (result.views.length === 0) {
    return nothingApplied(style);
  }
  const titles = ["VIEW", "STATUS", "STRATEGY", "TERMS#", "CHANGED SOURCES", "WHY"];
  const rows = result.views.map((view) => [
    view.view,
    statusText(view, style, "to refresh"),
    orDash(view.strategy),
    termsText(view),
    view.sources
      .filter((source) => source.changed)
      .map(windowText)
      .join(", "),
    view.reason?.text ?? "",
  ]);
  return [
    ...table(titles, rows, style),
    ...remarks(result, style),
    "",
    `${summary(result, style, "to refresh")}; snapshot ${result.horizon}`,
  ];
}

function nothingApplied(style: Style): string[] {
  return [`No view is applied; ${style.bold("ducklake-ivm apply")} does that.`];
}

function statusText(view: ViewResult, style: Style, refreshed: string): string {
  if (view.status === "failed") {
    return style.red("failed");
  }
  if (view.status === "skipped") {
    return style.yellow("skipped");
  }
  return view.status === "refreshed" ? style.green(refreshed) : view.status;
}

function termsText({ terms }: ViewResult): string {
  return terms.total === 0 ? "-" : `${terms.run} of ${terms.total}`;
}

function windowText({ source, from, to }: SourceResult): string {
  return from === null ? source : `${source} (${from}, ${to}]`;
}

function remarks(result: RefreshResult, style: Style): string[] {
  const warnings = result.warnings.map(({ text }) => `${style.yellow("warning:")} ${text}`);
  const ofViews = result.views.flatMap((view) => [
    ...view.sources.flatMap(({ source, deltaReason }) =>
      deltaReason === undefined
        ? []
        : [`${view.view}: ${source} is read as the difference of two snapshots: ${deltaReason.text}`],
    ),
    ...(view.error === null ? [] : errorLines(view.view, view.error, style)),
  ]);
  return [...ofViews, ...warnings];
}

function summary(result: RefreshResult, style: Style, refreshed: string): string {
  const having = (status: ViewResult["status"]): number => result.views.filter((view) => view.status === status).length;
  const failed = having("failed");
  const skipped = having("skipped");
  return [
    `${count(having("refreshed"), "view")} ${refreshed}`,
    ...(failed === 0 ? [] : [style.red(`${failed} failed`)]),
    `${having("unchanged")} unchanged`,
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
  ].join(", ");
}
