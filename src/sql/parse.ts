import type { Session } from "../engine/session.js";
import { ConfigError, DefinitionError } from "../errors.js";
import {
  type Ast,
  castTo,
  child,
  children,
  fingerprint,
  isAst,
  mapAst,
  optionalChild,
  selectStatement,
  text,
  textConstant,
} from "./ast.js";
import { operandOf, takeOperands } from "./brackets.js";
import { infinity, parseJson, printJson } from "./json.js";
import { quoteIdentifier, quotePath } from "./quote.js";

/** Where SQL text comes from, for error messages. */
export interface SqlOrigin {
  readonly view: string;
  readonly file?: string;
  readonly lineOffset?: number;
}

/** What DuckDB's parser says of a text. `place` is where it stopped. */
export type Parsed =
  | { readonly kind: "statements"; readonly statements: readonly Ast[] }
  | { readonly kind: "not_a_select"; readonly message: string; readonly pivot: boolean }
  | { readonly kind: "syntax_error"; readonly message: string; readonly place: TextPlace | undefined };

interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** Has DuckDB's own parser read a text of SELECT statements. */
export async function parseStatements(session: Session, sql: string): Promise<Parsed> {
  const row = await session.row<{ tree: string }>("SELECT json_serialize_sql($1::VARCHAR)::VARCHAR AS tree", [sql]);
  const tree = parseJson(row.tree);
  if (!isAst(tree)) throw new TypeError("json_serialize_sql gave no object");
  if (tree["error"] !== true) {
    return { kind: "statements", statements: children(tree, "statements").map(spellInfinities) };
  }
  const message = text(tree, "error_message");
  if (text(tree, "error_type") === "not implemented") {
    return { kind: "not_a_select", message, pivot: await isOpenPivot(session, sql) };
  }
  const position = Number(text(tree, "position") || Number.NaN);
  return { kind: "syntax_error", message, place: Number.isNaN(position) ? undefined : lineAndColumn(sql, position) };
}

/**
 * True for a query with a PIVOT whose values are not listed: DuckDB makes several statements of it, although it may stand
 * in brackets, where no other statement may.
 */
async function isOpenPivot(session: Session, sql: string): Promise<boolean> {
  const query = sql.trimEnd().replace(/;$/, "");
  const { kind } = await session.row<{ kind: string | null }>(
    "SELECT json_serialize_sql($1::VARCHAR)->>'error_type' AS kind",
    [`SELECT * FROM (\n${query}\n)`],
  );
  return kind === "not implemented";
}

/**
 * DuckDB writes constants that are infinite, such as 1e400, into a tree that it does not read again. A cast says the
 * same; the values that a PIVOT lists are compared as text in any case.
 */
function spellInfinities(statement: Ast): Ast {
  const spelled = (value: Ast | undefined): string | undefined => {
    const sign = value === undefined ? 0 : infinity(value["value"]);
    return sign === 0 ? undefined : `${sign < 0 ? "-" : ""}inf`;
  };
  return mapAst(statement, (node) => {
    if (node["class"] === "CONSTANT") {
      const words = spelled(optionalChild(node, "value"));
      return words === undefined ? node : castTo(textConstant(words), "DOUBLE", text(node, "alias"));
    }
    const words = spelled(node);
    return words === undefined ? undefined : child(textConstant(words), "value");
  }) as Ast;
}

/** The parts of a table's name; those that were left out are null. */
export interface TablePath {
  readonly catalog: string | null;
  readonly schema: string | null;
  readonly table: string;
}

/**
 * Has DuckDB read the name of a table, as it stands in FROM.
 * @throws ConfigError `table_name` for a text that says anything else.
 */
export async function parseTableName(session: Session, name: string): Promise<TablePath> {
  const statement = await parseFrom(session, name);
  const from = statement === undefined ? undefined : optionalChild(child(statement, "node"), "from_table");
  const part = (key: string): string | null => text(from ?? {}, key) || null;
  const [catalog, schema, table] = [part("catalog_name"), part("schema_name"), part("table_name")];
  const path = [catalog, schema, table].filter((name) => name !== null);
  // Whatever else the text says, such as a WHERE, makes another tree.
  const nameAlone = path.length === 0 ? undefined : await parseFrom(session, quotePath(path));
  const isName = statement !== undefined && from?.["alias"] === "" && fingerprint(statement) === fingerprint(nameAlone);
  if (isName && table !== null) return { catalog, schema, table };
  throw new ConfigError("table_name", `${JSON.stringify(name)} is not the name of a table.`, {
    hint: 'Write it as in SQL: orders, sales.orders or sales."order lines".',
  });
}

async function parseFrom(session: Session, name: string): Promise<Ast | undefined> {
  const parsed = await parseStatements(session, `FROM ${name}`);
  return parsed.kind === "statements" && parsed.statements.length === 1 ? parsed.statements[0] : undefined;
}

/**
 * Parses one SELECT statement with DuckDB's own parser.
 * @throws DefinitionError `syntax_error` with line and column, `not_a_select` for any other statement.
 */
export async function parseSelect(session: Session, sql: string, origin: SqlOrigin): Promise<Ast> {
  const parsed = await parseStatements(session, sql);
  if (parsed.kind !== "statements") throw parseError(parsed, origin);
  const [statement] = parsed.statements;
  if (statement === undefined || parsed.statements.length !== 1) {
    throw new DefinitionError(
      "not_a_select",
      `View ${origin.view}: expected one SELECT statement, found ${parsed.statements.length}.`,
      {
        subject: subjectOf(origin),
        hint: "Write exactly one query in each view's file.",
      },
    );
  }
  return statement;
}

function parseError(failed: Exclude<Parsed, { kind: "statements" }>, origin: SqlOrigin): DefinitionError {
  const { message } = failed;
  if (failed.kind === "not_a_select" && failed.pivot) {
    return new DefinitionError("not_a_select", `View ${origin.view}: a PIVOT in a view must list its values.`, {
      subject: subjectOf(origin),
      hint: "Write PIVOT … ON column IN ('a', 'b') USING …: else the view's columns would change with the data.",
    });
  }
  if (failed.kind === "not_a_select") {
    return new DefinitionError(
      "not_a_select",
      `View ${origin.view}: a view is defined by a SELECT statement. ${message}`,
      {
        subject: subjectOf(origin),
        hint: "Write one query (SELECT, FROM, VALUES or WITH) and nothing else.",
      },
    );
  }
  const { place } = failed;
  const line = place === undefined ? undefined : place.line + (origin.lineOffset ?? 0);
  const where = place === undefined ? "" : ` at line ${line}, column ${place.column}`;
  return new DefinitionError("syntax_error", `View ${origin.view}: ${message}${where}.`, {
    subject: {
      ...subjectOf(origin),
      ...(line === undefined ? {} : { line }),
      ...(place === undefined ? {} : { lineColumn: place.column }),
    },
    hint: "The text must be valid DuckDB SQL.",
  });
}

export function subjectOf(origin: SqlOrigin): { view: string; file?: string } {
  return { view: origin.view, ...(origin.file === undefined ? {} : { file: origin.file }) };
}

/** DuckDB counts code points, JavaScript's strings UTF-16 units. */
function lineAndColumn(sql: string, position: number): TextPlace {
  const before = [...sql].slice(0, position).join("");
  const lines = before.split("\n");
  return { line: lines.length, column: [...(lines.at(-1) ?? "")].length + 1 };
}

/** Prints a whole statement. */
export function printStatement(session: Session, statement: Ast): Promise<string> {
  return printInBrackets(session, spellCrossJoins(typeDoubles(statement)));
}

async function printInBrackets(session: Session, whole: Ast): Promise<string> {
  const { statement, operands } = takeOperands(whole);
  const json = printJson({ error: false, statements: [statement] });
  let { sql } = await session.row<{ sql: string }>("SELECT json_deserialize_sql($1::JSON) AS sql", [json]);
  for (const [name, operand] of operands) {
    const printed = operandOf(await printInBrackets(session, operand));
    sql = sql.replace(quoteIdentifier(name), () => printed);
  }
  return sql;
}

/**
 * Prints a statement some of whose tables (see `subqueryName`) stand for queries, given as text: types such as an ENUM
 * inside a STRUCT have no form in the syntax tree, so these queries can't be put into it.
 */
export async function printOver(session: Session, statement: Ast, queries: readonly string[]): Promise<string> {
  const sql = await printStatement(session, statement);
  if (queries.length === 0) return sql;
  const tables = queries.map((query, index) => `${quoteIdentifier(subqueryName(index))} AS (\n${query}\n)`);
  return `WITH ${tables.join(", ")} SELECT * FROM (${sql})`;
}

/** The table that stands for the query of this index. */
export function subqueryName(index: number): string {
  return `ivm query ${index + 1}`;
}

/** DuckDB prints a double as a decimal, which is another type and another value when it is read again. */
function typeDoubles(tree: Ast): Ast {
  return mapAst(tree, (node) => {
    const value = node["class"] === "CONSTANT" ? optionalChild(node, "value") : undefined;
    const type = value === undefined ? undefined : optionalChild(value, "type");
    return type?.["id"] === "DOUBLE" ? castTo({ ...node, alias: "" }, "DOUBLE", text(node, "alias")) : undefined;
  }) as Ast;
}

/**
 * DuckDB prints a cross join as a comma, which binds weaker than JOIN: below another join it would come back as another
 * tree. There it is written as an inner join whose condition always holds.
 */
function spellCrossJoins(statement: Ast): Ast {
  const spell = (node: Ast): Ast | undefined => {
    if (node["type"] !== "JOIN") return undefined;
    const operand = node["ref_type"] === "CROSS" ? spell : spellOperand;
    return { ...node, left: mapAst(child(node, "left"), operand), right: mapAst(child(node, "right"), operand) };
  };
  const spellOperand = (node: Ast): Ast | undefined => {
    if (node["type"] !== "JOIN") return spell(node);
    const sides = {
      left: mapAst(child(node, "left"), spellOperand),
      right: mapAst(child(node, "right"), spellOperand),
    };
    if (node["ref_type"] !== "CROSS") return { ...node, ...sides };
    return { ...node, ...sides, ref_type: "REGULAR", condition: castTo(textConstant("t"), "BOOLEAN") };
  };
  return mapAst(statement, spell) as Ast;
}

const SELECT_PREFIX = "SELECT ";

/** Prints expressions, in their order, in one call; aliases are left out. */
export async function printExpressions(session: Session, expressions: readonly Ast[]): Promise<string[]> {
  if (expressions.length === 0) return [];
  const documents = expressions.map((expression) =>
    printJson({ error: false, statements: [selectStatement([typeDoubles({ ...expression, alias: "" })])] }),
  );
  const rows = await session.rows<{ sql: string }>(
    "SELECT json_deserialize_sql(document::JSON) AS sql FROM (SELECT unnest($1::VARCHAR[]) AS document, generate_subscripts($1::VARCHAR[], 1) AS position) ORDER BY position",
    [documents],
  );
  return rows.map((row) => {
    if (!row.sql.startsWith(SELECT_PREFIX)) throw new TypeError(`unexpected print of an expression: ${row.sql}`);
    return row.sql.slice(SELECT_PREFIX.length);
  });
}
