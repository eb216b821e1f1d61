/** How the models of a dbt project are taken over. */
export interface DbtImportOptions {
  /** Overwrite files that are there. */
  readonly force?: boolean;
  /** Find out what would be written and write nothing. */
  readonly dryRun?: boolean;
}

/** A model of dbt that became a view. */
export interface ImportedModel {
  readonly model: string;
  readonly view: string;
  readonly file: string;
  /** What of the model could not be taken over. */
  readonly notes: readonly string[];
}

/** A model, seed or snapshot of dbt that did not become a view, and why. */
export interface LeftModel {
  readonly model: string;
  readonly kind: string;
  /** Stable, lower_snake_case. */
  readonly code: string;
  readonly reason: string;
}

/** Which models became views, and which did not. */
export interface DbtImportResult {
  readonly models: readonly ImportedModel[];
  readonly left: readonly LeftModel[];
}
