import { IvmError, RefreshError } from "../errors.js";
import type { Reason } from "../types.js";
import { type ComputeInput, pinnedStatement } from "./compute.js";
import { statementAtHorizon } from "./sources.js";

/** What to do about a definition that no longer fits what it reads. */
export const APPLY_AGAIN = "Apply the definitions again; the next refresh rebuilds the view. Nothing was written.";

/** @param why what has changed, as a clause. */
export function definitionBroken(view: string, why: string, cause: IvmError): RefreshError {
  const text = `View ${view} can't be computed any more: ${why}. ${cause.message.split("\n")[0]}`;
  return new RefreshError("definition_broken", text, { subject: { view }, hint: APPLY_AGAIN, cause });
}

/** A source's columns changed: what was applied may not run any more, or give other columns. */
export async function requireSameColumns(input: ComputeInput, reason: Reason): Promise<void> {
  const { definition } = input;
  let columns: { column_name: string; column_type: string }[];
  try {
    const sql = await statementAtHorizon(input.session, pinnedStatement(definition, input.instants.new), input.sources);
    columns = await input.session.rows(`DESCRIBE ${sql}`);
  } catch (error) {
    if (!(error instanceof IvmError) || error.code !== "engine_error") throw error;
    throw definitionBroken(definition.name, reason.text, error);
  }
  const differing = definition.columns.find((column) => {
    const now = columns.find((candidate) => candidate.column_name === column.name);
    return now !== undefined && now.column_type !== column.type;
  });
  if (differing === undefined) return;
  const now = columns.find((column) => column.column_name === differing.name)?.column_type;
  throw new RefreshError(
    "definition_stale",
    `View ${definition.name}: ${reason.text}; its column ${differing.name} would now be ${now}, not ${differing.type}.`,
    { subject: { view: definition.name, column: differing.name }, hint: APPLY_AGAIN },
  );
}
