/** How a lake is asked for rows. */
import type { CallOptions } from "./call.js";

/** What a query of a lake may be asked. */
export interface QueryOptions extends CallOptions {
  /** A view that the query is about: it must be there, and have content. */
  readonly view?: string;
  /** How many rows at most: the first ones where the query sorts them, else any. */
  readonly limit?: number;
}
