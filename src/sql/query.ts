import { Rows } from "../engine/rows.js";
import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { parseStatements, printStatement } from "./parse.js";

/**
 * Rows of one SELECT that a caller wrote. Nothing else is run.
 * @throws ConfigError `query_invalid` for a text that is anything else.
 */
export async function openQuery(session: Session, sql: string): Promise<Rows> {
  const parsed = await parseStatements(session, sql);
  if (parsed.kind === "syntax_error") {
    const { place, message } = parsed;
    const where = place === undefined ? "" : ` (line ${place.line}, column ${place.column})`;
    throw invalid(`The query can't be read: ${message}${where}`);
  }
  const [statement, ...others] = parsed.kind === "statements" ? parsed.statements : [];
  if (statement === undefined || others.length > 0) throw invalid("The query is not one SELECT.");
  return Rows.open(session, await printStatement(session, statement));
}

function invalid(message: string): ConfigError {
  return new ConfigError("query_invalid", message, {
    hint: "Write one SELECT; for anything else take a connection of connect().",
  });
}
