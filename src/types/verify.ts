/** What `verify` gives. */
import type { CallOptions, ProgressOptions } from "./call.js";
import type { ErrorResult } from "./common.js";
import type { VerifyEvent } from "./progress.js";

/** What `verify` may be asked. */
export interface VerifyOptions extends CallOptions, ProgressOptions<VerifyEvent> {
  /** The views to verify; all where left out. */
  readonly views?: readonly string[];
}

/** Whether a view is what its query gives. */
export interface VerifyResult {
  readonly view: string;
  readonly ok: boolean;
  readonly horizon: bigint | null;
  readonly rows: bigint;
  /** Up to 20 differing rows: weight > 0, the view has copies too many; weight < 0, copies are missing. */
  readonly differences: readonly { readonly weight: bigint; readonly row: Readonly<Record<string, string | null>> }[];
  readonly differenceCount: bigint;
  /** Relative tolerance used for floating-point columns; everything else is compared exactly. */
  readonly tolerance: number;
  readonly error: ErrorResult | null;
}
