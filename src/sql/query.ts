import { Rows } from "../engine/rows.js";
import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import { type Ast, child, text, walkAst } from "./ast.js";
import { type Parsed, printStatement } from "./parse.js";

/**
 * DuckDB's and DuckLake's own table functions that read. Of others nothing tells whether they do: some delete files,
 * also where the lake is attached read-only, or run other statements.
 */
const READERS =
  /^(range|generate_series|unnest|repeat|repeat_row|json_each|json_tree|glob|which_secret|sniff_csv|read_\w+|parquet_\w+|pragma_\w+|duckdb_\w+|icu_calendar_names|pg_timezone_names|histogram|histogram_values|query_table|(ducklake_)?(current_snapshot|last_committed_snapshot|list_files|options|settings|snapshots|table_\w+))$/i;

/**
 * Rows of one SELECT that a caller wrote. Nothing else is run.
 * @param limit how many rows at most.
 * @throws ConfigError `query_invalid` for a text that is anything else, or that calls a table function that may write.
 */
export async function openQuery(session: Session, parsed: Parsed, limit: number | undefined): Promise<Rows> {
  if (parsed.kind === "syntax_error") {
    const { place, message } = parsed;
    const where = place === undefined ? "" : ` (line ${place.line}, column ${place.column})`;
    throw invalid(`The query can't be read: ${message}${where}`);
  }
  const [statement, ...others] = parsed.kind === "statements" ? parsed.statements : [];
  if (statement === undefined || others.length > 0) throw invalid("The query is not one SELECT.");
  await requireReading(session, statement);
  return Rows.open(session, await printStatement(session, statement), limit);
}

async function requireReading(session: Session, statement: Ast): Promise<void> {
  const called = new Set<string>();
  walkAst(statement, (node) => {
    if (node["type"] === "TABLE_FUNCTION") called.add(text(child(node, "function"), "function_name"));
    return true;
  });
  const unknown = [...called].filter((name) => !READERS.test(name));
  for (const name of unknown) {
    // A macro that is kept in the lake is as much to be trusted as a view there.
    const macros = await session.rows(
      "SELECT 1 FROM duckdb_functions() WHERE function_type = 'table_macro' AND lower(function_name) = lower($1)",
      [name],
    );
    if (macros.length === 0) throw invalid(`The table function ${name} is not known to read only.`);
  }
}

function invalid(message: string): ConfigError {
  return new ConfigError("query_invalid", message, {
    hint: "Write one SELECT that only reads; for anything else take a connection of connect(), or DuckDB itself.",
  });
}
