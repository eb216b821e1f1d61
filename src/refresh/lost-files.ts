/** Data files of a view's own tables that are gone, as after somebody's removal of orphans beside a refresh. */
import { basename } from "node:path/posix";
import { FILE_MISSING } from "../engine/errors.js";
import { LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import { IvmError } from "../errors.js";
import type { Reason } from "../types.js";
import { besideTables } from "../view/beside.js";
import type { BuiltView, StateTables } from "../view/state.js";
import { TABLE_ALTERED } from "./stored-table.js";

export function isFileMissing(error: unknown): error is IvmError {
  return error instanceof IvmError && error.code === FILE_MISSING;
}

/** Why a view has to be built anew where the error is about a file of its own tables; null where it is another's. */
export async function lostFile(
  session: Session,
  tables: StateTables,
  { layout, table }: BuiltView,
  error: IvmError,
): Promise<Reason | null> {
  for (const name of [table, ...besideTables(layout, table).map((beside) => beside.name)]) {
    const files = await session.rows<{ path: string }>(
      "SELECT unnest([data_file, delete_file]) AS path FROM ducklake_list_files($1, $2, schema => $3)",
      [LAKE_NAME, name, tables.schema],
    );
    const isOwn = files.some(({ path }) => path !== null && error.message.includes(basename(path)));
    if (isOwn) return { code: TABLE_ALTERED, text: `something else has removed a file of the view's table ${name}` };
  }
  return null;
}
