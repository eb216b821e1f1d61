/** What a refresh tells other systems: events of lineage while it works, metrics at its end. */
import { IvmError } from "./errors.js";
import type { Overview, Reason, RefreshOptions, RefreshResult, ViewLineage } from "./types.js";

export interface Observed {
  readonly refresh: (options: RefreshOptions) => Promise<RefreshResult>;
  readonly lineage: () => Promise<readonly ViewLineage[]>;
  readonly overview: () => Promise<Overview>;
}

/** Refreshes and tells. What can't be told is a warning of the result: the views are right all the same. */
export async function observedRefresh(observed: Observed, options: RefreshOptions): Promise<RefreshResult> {
  if (options.dryRun === true) return observed.refresh(options);
  const { openLineage, metrics } = options;
  const warnings: Reason[] = [];
  let result: RefreshResult;
  if (openLineage === undefined) result = await observed.refresh(options);
  else {
    const { OpenLineage } = await import("./report/open-lineage.js");
    const events = new OpenLineage(openLineage, await observed.lineage());
    try {
      const onProgress: RefreshOptions["onProgress"] = (event) => {
        events.follow(event);
        options.onProgress?.(event);
      };
      result = await observed.refresh({ ...options, onProgress });
    } finally {
      warnings.push(...(await events.finish()));
    }
  }
  if (metrics !== undefined) warnings.push(...(await writeMetrics(metrics, result, observed)));
  return warnings.length === 0 ? result : { ...result, warnings: [...result.warnings, ...warnings] };
}

async function writeMetrics(file: string, result: RefreshResult, { overview }: Observed): Promise<Reason[]> {
  const { renderMetrics } = await import("./report/metrics.js");
  const { writeWhole } = await import("./report/write-file.js");
  try {
    await writeWhole(file, renderMetrics(await overview(), result));
    return [];
  } catch (error) {
    if (!(error instanceof IvmError)) throw error;
    return [{ code: "metrics_not_written", text: `the metrics could not be written: ${error.message}` }];
  }
}
