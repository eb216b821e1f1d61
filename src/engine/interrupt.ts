import type { DuckDBConnection } from "@duckdb/node-api";
import { InterruptedError } from "../errors.js";

/** An interrupt that comes before a statement has begun is lost, so it is repeated. */
const INTERRUPT_EVERY_MS = 100;

/** The error of work that its signal has stopped; the signal's reason is its cause. */
export function interrupted(signal: AbortSignal): InterruptedError {
  return new InterruptedError("interrupted", "The work was interrupted; nothing is half done.", {
    hint: "Make the same call again.",
    cause: signal.reason,
  });
}

/** Interrupts what runs on a connection from the signal's abort on, until the function that it gives is called. */
export function interruptOnAbort(connection: DuckDBConnection, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    connection.interrupt();
    timer = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
  };
  if (signal.aborted) interrupt();
  else signal.addEventListener("abort", interrupt, { once: true });
  return () => {
    signal.removeEventListener("abort", interrupt);
    clearInterval(timer);
  };
}

/** What `work` gives, or at once InterruptedError when the signal is aborted; the work then goes on unobserved. */
export async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(interrupted(signal));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
