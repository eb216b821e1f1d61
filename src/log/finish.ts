import type { Notify } from "../engine/notify.js";
import type { Session } from "../engine/session.js";
import { ConflictError, IvmError } from "../errors.js";
import type { LogEvent, Reason } from "../types.js";
import { compactLog } from "./compact.js";
import { publishManifest, publishManifests } from "./manifest.js";
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
  { changed, notify }: { readonly changed: boolean; readonly notify: Notify<LogEvent> },
): Promise<Reason[]> {
  const warnings: Reason[] = [];
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      session.checkSignal();
      if (!(error instanceof IvmError)) throw error;
      // Another run is at it.
      if (!(error instanceof ConflictError)) warnings.push({ code: error.code, text: error.message });
    }
  };
  const states = await readLogs(session, root.tables, views);
  const compacted = new Set<string>();
  if (changed && root.compact === "auto") {
    const { keep, fanOut } = root;
    const due = [...states.values()].filter(
      (state) => nextStep(state, { keep, fanOut, held: [], now: new Date(), thorough: false }) !== undefined,
    );
    for (const [index, { log }] of due.entries()) {
      compacted.add(log);
      const position = { number: index + 1, of: due.length };
      await attempt(() => compactLog(session, root, runId, log, { thorough: false, notify, position }));
    }
    await attempt(() => sweepRetired(session, root));
  }
  for (const log of compacted) await attempt(() => publishManifest(session, root, log));
  const others = [...states.values()].filter(({ log }) => !compacted.has(log));
  await attempt(() => publishManifests(session, root, others, attempt));
  return warnings;
}
