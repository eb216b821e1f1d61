/** How views are selected. */

export interface SelectOptions {
  /**
   * Selectors, all of whose views are taken: a name, `+name` with all that it reads, `name+` with all that reads it, or
   * both. In place of a view's name stand names with `*` and `?`, `tag:x`, or, with a plus, a table. All views where
   * left out.
   */
  readonly select?: readonly string[];
  /** Selectors whose views are left out. */
  readonly exclude?: readonly string[];
}
