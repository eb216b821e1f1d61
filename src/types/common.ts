/** What results of several verbs have in common. */

/** Why a view was recomputed instead of maintained, or any other remark with a stable code. */
export interface Reason {
  readonly code: string;
  readonly text: string;
}

/** An error as a part of a result: what `IvmError` says, as a plain object. */
export interface ErrorResult {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly retryable: boolean;
}
