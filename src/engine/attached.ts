import { resolve } from "node:path";
import { ConfigError } from "../errors.js";
import { quoteLiteral } from "../sql/quote.js";
import { catalogFile } from "./catalog-copy.js";
import type { Session } from "./session.js";

/**
 * An instance that is the caller's may have a lake attached already, under the name that is used here.
 * @throws ConfigError `lake_name_taken` where that is another one: everything would be done to the wrong lake.
 */
export async function requireSameLake(
  session: Session,
  name: string,
  catalog: string,
  metadataSchema: string | undefined,
): Promise<void> {
  const [attached] = await session.rows<{ type: string; path: string | null; schema: string | null }>(
    `SELECT type, path, options['metadata_schema'] AS schema FROM duckdb_databases() WHERE database_name = ${quoteLiteral(name)}`,
  );
  if (attached === undefined) return;
  // A lake that was attached by the name of a secret has no path to be told by.
  const isPath = attached.path === null || attached.path === "" || place(attached.path) === place(catalog);
  const isSchema = attached.schema === null || metadataSchema === undefined || attached.schema === metadataSchema;
  if (attached.type === "ducklake" && isPath && isSchema) return;
  throw new ConfigError("lake_name_taken", `The instance has another database attached under the name ${name}.`, {
    hint: "Give each lake an instance of its own; for the lake that is attached, write its address as it was attached.",
  });
}

function place(catalog: string): string {
  const file = catalogFile(catalog);
  return file === undefined ? catalog.replace(/^ducklake:/i, "") : resolve(file);
}
