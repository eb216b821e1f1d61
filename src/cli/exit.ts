/** Exit codes; part of the public interface. */
import { CommanderError } from "commander";
import { ConfigError, DefinitionError, InterruptedError, IvmError } from "../errors.js";
import type { RefreshResult } from "../types.js";

export const EXIT = {
  /** Also where there was nothing to do. */
  ok: 0,
  /** A view failed, verify found a difference, or the lake could not be reached. */
  failed: 1,
  /** Wrong usage, configuration or definition: the same call will fail again. */
  usage: 2,
  /** A consumer must take the whole state of its view before it can go on with changes. */
  reset: 3,
  /** Another writer was faster: the same call may well succeed. */
  retry: 75,
  interrupted: 130,
} as const;

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (!(error instanceof IvmError)) {
    return EXIT.failed;
  }
  if (error instanceof InterruptedError) {
    return EXIT.interrupted;
  }
  if (error.code === "consumer_reset" || error.code === "log_position_lost") {
    return EXIT.reset;
  }
  if (error.retryable) {
    return EXIT.retry;
  }
  return error instanceof ConfigError || error instanceof DefinitionError ? EXIT.usage : EXIT.failed;
}

/** A retry is worth while only if nothing but conflicts stands in the way; views that read a failed one follow it. */
export function refreshExitCode(result: RefreshResult): number {
  const errors = result.views.flatMap(({ error }) =>
    error === null || error.code === "upstream_failed" ? [] : [error],
  );
  if (errors.length === 0) {
    return result.status === "failed" ? EXIT.failed : EXIT.ok;
  }
  return errors.every((error) => error.retryable) ? EXIT.retry : EXIT.failed;
}
