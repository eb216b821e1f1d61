/** What every call takes that may be long. */
export interface CallOptions {
  /**
   * Its abort ends the call with InterruptedError: the statement that runs is interrupted, and its transaction rolled
   * back. Commits that were made before stay.
   */
  readonly signal?: AbortSignal;
}

/** For calls that tell how far they are. */
export interface ProgressOptions<Event> {
  /**
   * Is told each event as it happens and is not waited for. What it throws is an uncaught exception, as with any
   * listener, and does not disturb the call.
   */
  readonly onProgress?: (event: Event) => void;
}
