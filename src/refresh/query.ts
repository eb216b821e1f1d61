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
  const { views } = await tables.read(session);
  if (view !== undefined) requireBuilt(views, view);
  const parsed = await parseStatements(session, text);
  const word = text.trim();
  // A name may have spaces, and then only the list of views tells it from a query that is written wrongly.
  const isName = /^\S+$/.test(word) || findView(views, word) !== undefined;
  if (parsed.kind === "syntax_error" && isName) {
    const { name } = requireBuilt(views, word);
    const select = await parseStatements(session, `FROM ${quotePath([schema, name])}`);
    return openQuery(session, select, limit);
  }
  return openQuery(session, parsed, limit);
}

function findView(views: readonly StoredView[], name: string): StoredView | undefined {
  return views.find((candidate) => sameName(candidate.name, name));
}

function requireBuilt(views: readonly StoredView[], name: string): StoredView {
  const view = findView(views, name);
  if (view === undefined) throw viewUnknown(views, name);
  if (view.built === null) throw notBuilt(view.name);
  return view;
}
