import type { Session } from "../engine/session.js";
import { ConflictError, IvmError } from "../errors.js";
import type { Reason } from "../types.js";
import { compactLogs } from "./compact.js";
import { publishManifest } from "./manifest.js";
import { nextStep } from "./policy.js";
import { readLogs } from "./registry.js";
import type { LogRoot } from "./root.js";
import { sweepRetired } from "./sweep.js";

/**
 * What is left to do for logs after the commits of a run: compaction where it is due, and manifests that tell it all.
 * Nothing here can undo the run, so failures are told as warnings, and the next run repairs them.
 */
export async function finishLogs(
  session: Session,
  root: LogRoot,
  runId: string,
  views: readonly string[],
  options: { readonly changed: boolean; readonly signal?: AbortSignal | undefined },
): Promise<Reason[]> {
  const warnings: Reason[] = [];
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof IvmError)) throw error;
      // Another run is at it.
      if (!(error instanceof ConflictError)) warnings.push({ code: error.code, text: error.message });
    }
  };
  const states = await readLogs(session, root.tables, views);
  const compacted = new Set<string>();
  if (options.changed && root.compact === "auto") {
    const { keep, fanOut } = root;
    const due = [...states.values()].filter(
      (state) => nextStep(state, { keep, fanOut, held: [], now: new Date(), thorough: false }) !== undefined,
    );
    const { signal } = options;
    for (const { log } of due) {
      compacted.add(log);
      const compaction = { logs: [log], thorough: false, ...(signal === undefined ? {} : { signal }) };
      await attempt(() => compactLogs(session, root, runId, compaction));
    }
    await attempt(() => sweepRetired(session, root));
  }
  for (const [log, state] of states)
    await attempt(() => publishManifest(session, root, log, compacted.has(log) ? undefined : state));
  return warnings;
}
