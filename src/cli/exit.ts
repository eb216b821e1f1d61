/** Exit codes; part of the public interface. */
import { CommanderError } from "commander";
import { ConfigError, DefinitionError, InterruptedError, IvmError } from "../errors.js";

export const EXIT = {
  /** Also where there was nothing to do. */
  ok: 0,
  /** A view failed, verify found a difference, or the lake could not be reached. */
  failed: 1,
  /** Wrong usage, configuration or definition: the same call will fail again. */
  usage: 2,
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
  if (error.retryable) {
    return EXIT.retry;
  }
  return error instanceof ConfigError || error instanceof DefinitionError ? EXIT.usage : EXIT.failed;
}
