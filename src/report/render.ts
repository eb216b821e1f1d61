import type { Overview } from "../types.js";

/** What the page of a report may be asked. */
export interface ReportOptions {
  /** What the lake is called, on top of the page. Default `lake`. */
  readonly title?: string;
}

/**
 * A lake's overview as one HTML page that needs nothing else: no network, no other file. Everything that comes from
 * the lake is escaped, and the page's own policy lets nothing run but its own script.
 */
export async function renderReport(overview: Overview, options: ReportOptions = {}): Promise<string> {
  const { renderPage } = await import("./page.js");
  return renderPage(overview, options);
}
