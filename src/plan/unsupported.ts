import type { Reason } from "../types.js";

/** Thrown inside planning where a definition has a form without an incremental rule; the view is then recomputed. */
export class Unsupported extends Error {
  readonly reason: Reason;

  constructor(code: string, text: string) {
    super(text);
    this.reason = { code, text };
  }
}
