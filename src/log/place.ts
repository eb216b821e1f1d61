/** Where change logs must not be. */
import { resolve, sep } from "node:path";
import { LAKE_NAME } from "../engine/lake.js";
import type { Session } from "../engine/session.js";

/** What to do about change logs in the lake's data path. */
export const LOG_ELSEWHERE =
  "Set `log.path` to a place outside of it: whoever removes orphaned files from the lake would remove the logs.";

/** The folder or prefix of a lake's own files; undefined where it does not tell. @param lake as it is attached. */
export async function dataPathOf(session: Session, lake = LAKE_NAME): Promise<string | undefined> {
  const [option] = await session.rows<{ value: string }>(
    "SELECT value FROM ducklake_options($1) WHERE option_name = 'data_path'",
    [lake],
  );
  return option?.value;
}

/** Whether a folder or an address is another one, or below it. */
export function isInside(path: string, folder: string | undefined): boolean {
  return folder !== undefined && asFolder(path).startsWith(asFolder(folder));
}

function asFolder(path: string): string {
  return path.includes("://") ? path.replace(/\/*$/, "/") : `${resolve(path)}${sep}`;
}
