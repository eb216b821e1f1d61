import pRetry from "p-retry";
import { ConflictError } from "../errors.js";
import { CATALOG_LOCKED, STALE_CATALOG } from "./errors.js";

/** How long a call waits for other writers where nothing else is said, in milliseconds. */
const DEFAULT_RETRY_MS = 60_000;

/** Conflicts that repeating the same work does not end soon, if ever: who made the call has to begin anew. */
const FINAL: ReadonlySet<string> = new Set([CATALOG_LOCKED, "consumer_moved", "view_dropped", "overtaken"]);

/** The time that one call may spend on conflicts, over all the work that it does. */
export class Patience {
  private spentMs = 0;

  constructor(private readonly limitMs = DEFAULT_RETRY_MS) {}

  /** @param waitingMs what the work that is being repeated has taken since its first conflict. */
  isLeft(waitingMs = 0): boolean {
    return this.spentMs + waitingMs < this.limitMs;
  }

  spend(ms: number): void {
    this.spentMs += ms;
  }
}

export interface RetryLimits {
  readonly patience: Patience;
  readonly signal?: AbortSignal | undefined;
  /** The conflicts after which this work is worth repeating; where left out, all that are not final. */
  readonly codes?: ReadonlySet<string>;
}

/**
 * Runs work again, with growing random pauses, while another writer is in its way and there is patience left. The whole
 * of it runs again: a transaction that met a conflict is gone. No attempt begins more than a pause after the patience
 * has ended, and the last conflict is then the error.
 * @param retrying is told each conflict after which the work runs again.
 */
export async function retryConflicts<Result>(
  work: (attempt: number) => Promise<Result>,
  reattach: () => Promise<void>,
  { signal, patience, codes }: RetryLimits,
  retrying?: (error: ConflictError) => void,
): Promise<Result> {
  let waitsSince: number | undefined;
  const waited = (): number => (waitsSince === undefined ? 0 : performance.now() - waitsSince);
  const isWorthIt = ({ code }: ConflictError): boolean => (codes === undefined ? !FINAL.has(code) : codes.has(code));
  const mayRetry = (error: Error): boolean =>
    error instanceof ConflictError && isWorthIt(error) && signal?.aborted !== true && patience.isLeft(waited());
  try {
    return await pRetry(work, {
      onFailedAttempt: async ({ error }) => {
        if (!(error instanceof ConflictError)) return;
        waitsSince ??= performance.now();
        if (mayRetry(error)) retrying?.(error);
        if (error.code === STALE_CATALOG) await reattach();
      },
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 50,
      maxTimeout: 2_000,
      randomize: true,
      shouldRetry: ({ error }) => mayRetry(error),
      ...(signal === undefined ? {} : { signal }),
    });
  } finally {
    patience.spend(waited());
  }
}
