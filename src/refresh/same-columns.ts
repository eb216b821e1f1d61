import { IvmError, RefreshError } from "../errors.js";
import type { Reason } from "../types.js";
import { type ComputeInput, pinnedStatement } from "./compute.js";
import { statementAtHorizon } from "./sources.js";

/** A source's columns changed: what was applied may not run any more, or give other columns. */
export async function requireSameColumns(input: ComputeInput, reason: Reason): Promise<void> {
  const { definition } = input;
  const subject = { view: definition.name };
  const hint = "Apply the definitions again; the next refresh rebuilds the view. Nothing was written.";
  let columns: { column_name: string; column_type: string }[];
  try {
    const sql = await statementAtHorizon(input.session, pinnedStatement(definition, input.instants.new), input.sources);
    columns = await input.session.rows(`DESCRIBE ${sql}`);
  } catch (error) {
    if (!(error instanceof IvmError) || error.code !== "engine_error") throw error;
    const text = `View ${definition.name} can't be computed any more: ${reason.text}. ${error.message.split("\n")[0]}`;
    throw new RefreshError("definition_broken", text, { subject, hint, cause: error });
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
    { subject: { ...subject, column: differing.name }, hint },
  );
}
