/** What a refresh did or would do, for a person. */
import type { RefreshResult, ViewResult } from "../types.js";
import { count, duration, errorLines, orDash, table } from "./format.js";
import type { Style } from "./style.js";

export function refreshLines(result: RefreshResult, style: Style, dryRun: boolean): string[] {
  if (result.views.length === 0) {
    return [`No view is applied; ${style.bold("ducklake-ivm apply")} does that.`];
  }
  const titles = ["VIEW", "STATUS", "STRATEGY", "INSERTED#", "DELETED#", "TERMS#", "TIME#", "WHY"];
  const lines = table(
    titles,
    result.views.map((view) => cells(view, style, dryRun)),
    style,
  );
  for (const view of result.views) {
    for (const source of view.sources) {
      if (source.deltaReason !== undefined) {
        lines.push(
          `${view.view}: ${source.source} was read as the difference of two snapshots: ${source.deltaReason.text}`,
        );
      }
    }
    if (view.error !== null) {
      lines.push(...errorLines(view.view, view.error, style));
    }
  }
  const done = result.views.filter((view) => view.status === "refreshed").length;
  const failed = result.views.filter((view) => view.status === "failed").length;
  const summary = [
    `${count(done, "view")} ${dryRun ? "would be refreshed" : "refreshed"}`,
    ...(failed === 0 ? [] : [style.red(`${failed} failed`)]),
    `${result.views.length - done - failed} unchanged`,
  ].join(", ");
  lines.push("", `${summary}; snapshot ${result.horizon}, ${duration(result.elapsedMs)}, run ${result.runId}`);
  return lines;
}

function cells(view: ViewResult, style: Style, dryRun: boolean): string[] {
  const unknown = dryRun || view.status !== "refreshed";
  return [
    view.view,
    statusText(view, style, dryRun),
    orDash(view.strategy),
    unknown ? "-" : view.rows.inserted.toLocaleString("en-US"),
    unknown ? "-" : view.rows.deleted.toLocaleString("en-US"),
    view.terms.total === 0 ? "-" : `${view.terms.run} of ${view.terms.total}`,
    duration(view.elapsedMs),
    view.reason?.text ?? "",
  ];
}

function statusText(view: ViewResult, style: Style, dryRun: boolean): string {
  if (view.status === "failed") {
    return style.red("failed");
  }
  return view.status === "refreshed" ? style.green(dryRun ? "to refresh" : "refreshed") : view.status;
}
