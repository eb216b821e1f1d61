import pRetry from "p-retry";
import { ConflictError } from "../errors.js";
import { STALE_CATALOG } from "./errors.js";

const RETRIES = 6;

/**
 * Runs work again, with growing random pauses, while another writer is in its way. The whole of it runs again: a
 * transaction that met a conflict is gone.
 * @param retrying is told each conflict after which the work runs again.
 */
export function retryConflicts<Result>(
  work: (attempt: number) => Promise<Result>,
  reattach: () => Promise<void>,
  signal?: AbortSignal,
  retrying?: (error: ConflictError) => void,
): Promise<Result> {
  return pRetry(work, {
    onFailedAttempt: async ({ error, retriesLeft }) => {
      if (!(error instanceof ConflictError)) return;
      if (retriesLeft > 0 && signal?.aborted !== true) retrying?.(error);
      if (error.code === STALE_CATALOG) await reattach();
    },
    retries: RETRIES,
    minTimeout: 50,
    maxTimeout: 2_000,
    randomize: true,
    shouldRetry: ({ error }) => error instanceof ConflictError && signal?.aborted !== true,
    ...(signal === undefined ? {} : { signal }),
  });
}
