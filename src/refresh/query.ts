import type { Rows } from "../engine/rows.js";
import type { Session } from "../engine/session.js";
import { parseStatements } from "../sql/parse.js";
import { openQuery } from "../sql/query.js";
import { quotePath, sameName } from "../sql/quote.js";
import type { QueryOptions } from "../types.js";
import type { StateTables, StoredView } from "../view/state.js";
import { notBuilt, viewUnknown } from "./order.js";

/**
 * Rows of a view, or of one SELECT.
 * @param text the view's name, or the SELECT.
 * @param schema where the user-facing views are.
 * @throws ConfigError `query_invalid`, `view_unknown`; RefreshError `not_built`.
 */
export async function queryLake(
  session: Session,
  tables: StateTables,
  schema: string,
  text: string,
  { view, limit }: QueryOptions,
): Promise<Rows> {
  if (view !== undefined) await builtView(session, tables, view);
  const parsed = await parseStatements(session, text);
  const word = text.trim();
  if (parsed.kind === "syntax_error" && /^\S+$/.test(word)) {
    const { name } = await builtView(session, tables, word);
    const select = await parseStatements(session, `FROM ${quotePath([schema, name])}`);
    return openQuery(session, select, limit);
  }
  return openQuery(session, parsed, limit);
}

async function builtView(session: Session, tables: StateTables, name: string): Promise<StoredView> {
  const { views } = await tables.read(session);
  const view = views.find((candidate) => sameName(candidate.name, name));
  if (view === undefined) throw viewUnknown(views, name);
  if (view.built === null) throw notBuilt(view.name);
  return view;
}
