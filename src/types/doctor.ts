/** What `diagnose` gives. */

/** One thing that was looked at. */
export interface DoctorCheck {
  /** Stable: `node`, `engine`, `extensions`, `catalog`, `catalog_rights`, `data_put`, `log_list` … */
  readonly name: string;
  /** `error`: refreshes can't work; `warning`: they do, and something is to be looked after; `skipped`: it could not be told. */
  readonly status: "ok" | "warning" | "error" | "skipped";
  readonly message: string;
  /** What to do about it; null where nothing is. */
  readonly remedy: string | null;
}

/** What `diagnose` found. */
export interface DoctorResult {
  /** False where any check is an error. */
  readonly ok: boolean;
  readonly checks: readonly DoctorCheck[];
}
