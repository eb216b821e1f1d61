/** A model's compiled SQL as a view's: the tables that it reads get the names that they have in the lake. */
import type { Session } from "../engine/session.js";
import { type Ast, fingerprint, mapAst, text, walkAst } from "../sql/ast.js";
import { parseStatements, printStatement } from "../sql/parse.js";
import { quoteIdentifier } from "../sql/quote.js";

/** Where dbt's relations are in the lake, by `relationKey`. */
export type Relations = ReadonlyMap<string, LakeName>;

export interface LakeName {
  /** Left out for a view of the project. */
  readonly schema?: string;
  readonly table: string;
}

export type Translated =
  | { readonly sql: string; readonly reads: readonly string[]; readonly functions: readonly string[] }
  | { readonly problem: string };

/** Names of relations compare without case. */
function relationKey(catalog: string, schema: string, table: string): string {
  return JSON.stringify([catalog, schema, table].map((part) => part.toLowerCase()));
}

/** The key of a relation as dbt writes it into SQL; undefined where it is no name of three parts. */
export async function readRelation(session: Session, name: string): Promise<string | undefined> {
  const parsed = await parseStatements(session, `FROM ${name}`);
  const tables = parsed.kind === "statements" ? parsed.statements.flatMap(tablesOf) : [];
  return tables.length === 1 && tables[0] !== undefined ? keyOf(tables[0]) : undefined;
}

export async function translate(session: Session, sql: string, relations: Relations): Promise<Translated> {
  const parsed = await parseStatements(session, sql);
  if (parsed.kind === "not_a_select") return { problem: `it is no SELECT: ${parsed.message}` };
  if (parsed.kind === "syntax_error") return { problem: `DuckDB can't parse it: ${parsed.message}` };
  const [statement] = parsed.statements;
  if (statement === undefined || parsed.statements.length !== 1) return { problem: "it is not one statement" };
  const functions: string[] = [];
  walkAst(statement, (node) => {
    if (node["class"] === "FUNCTION") functions.push(text(node, "function_name").toLowerCase());
    return true;
  });
  const named = tablesOf(statement);
  const known = named.flatMap((table) => (relations.has(keyOf(table)) ? [table] : []));
  const elsewhere = named.find((table) => text(table, "catalog_name") !== "" && !relations.has(keyOf(table)));
  if (elsewhere !== undefined) {
    const path = ["catalog_name", "schema_name", "table_name"].map((part) => text(elsewhere, part)).join(".");
    return { problem: `it reads ${path}, which is no model, seed, snapshot or source of the project` };
  }
  const wanted = mapAst(statement, (node) => renamed(node, relations)) as Ast;
  const spliced = splice(sql, known, relations);
  const reads = known.map(keyOf);
  // The text keeps its comments and its lines where it says exactly what the changed tree says.
  const again = await parseStatements(session, spliced);
  const isSame = again.kind === "statements" && fingerprint(again.statements) === fingerprint([wanted]);
  return { sql: isSame ? spliced.trim() : await printStatement(session, wanted), reads, functions };
}

function tablesOf(statement: Ast): Ast[] {
  const tables: Ast[] = [];
  walkAst(statement, (node) => {
    if (node["type"] === "BASE_TABLE") tables.push(node);
    return true;
  });
  return tables;
}

function keyOf(table: Ast): string {
  return relationKey(text(table, "catalog_name"), text(table, "schema_name"), text(table, "table_name"));
}

function renamed(node: Ast, relations: Relations): Ast | undefined {
  const name = node["type"] === "BASE_TABLE" ? relations.get(keyOf(node)) : undefined;
  if (name === undefined) return undefined;
  return { ...node, catalog_name: "", schema_name: name.schema ?? "", table_name: name.table };
}

/** Puts the new names at the places that the parser told, where dbt's own spelling of the old ones stands there. */
function splice(sql: string, tables: readonly Ast[], relations: Relations): string {
  // DuckDB counts code points.
  const letters = [...sql];
  const places = tables.map((table) => ({ table, at: Number(table["query_location"]) })).sort((a, b) => b.at - a.at);
  for (const { table, at } of places) {
    const old = ["catalog_name", "schema_name", "table_name"].map((part) => quoteIdentifier(text(table, part)));
    const length = [...old.join(".")].length;
    if (letters.slice(at, at + length).join("") !== old.join(".")) continue;
    const name = relations.get(keyOf(table));
    if (name !== undefined) letters.splice(at, length, spell(name));
  }
  return letters.join("");
}

function spell({ schema, table }: LakeName): string {
  return [...(schema === undefined ? [] : [schema]), table].map(quoteIdentifier).join(".");
}
