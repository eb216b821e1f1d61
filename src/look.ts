/** Looks at a lake from outside: nothing is written, and no writer waits. */
import { catalogFile, catalogStamp, copyCatalog, requireCatalogFile } from "./engine/catalog-copy.js";
import { makeRedactor } from "./engine/redact.js";
import { type OpenOptions, open } from "./lake.js";
import type { ReportServer, ServeOptions } from "./report/serve.js";
import type { LakeConfig, Overview, OverviewOptions } from "./types.js";

/** What a look at a lake may be asked. */
export type LookOptions = OverviewOptions & Pick<OpenOptions, "logger">;

/**
 * A lake's overview as it is now, for programs that have not opened it. The lake is attached to read only; of a catalog
 * that is a file a copy is read, so that neither this call nor a writer waits for the other.
 * @throws LakeError where the lake does not exist or can't be reached.
 */
export async function readOverview(config: LakeConfig, options: LookOptions = {}): Promise<Overview> {
  const file = catalogFile(config.catalog);
  if (file === undefined) return look(config, options);
  await requireCatalogFile(config.catalog, makeRedactor(config).redact);
  await using copy = await copyCatalog(config, file);
  return await look(copy.config, options);
}

async function look(config: LakeConfig, { logger, ...options }: LookOptions): Promise<Overview> {
  await using lake = await open(config, { readOnly: true, ...(logger === undefined ? {} : { logger }) });
  return await lake.overview(options);
}

/**
 * Serves the report of a lake, live, as a page at `/`, as JSON at `/report.json` and for Prometheus at `/metrics`: each look that is older than `everyMs` is made anew when somebody asks, and a
 * catalog file that did not change is not read again. Only GET and HEAD are answered, and only under the names that
 * the server was given, so that no page of another site can reach it.
 * @throws ConfigError `port_taken` where something else listens there.
 */
export async function serveReport(config: LakeConfig, options: ServeOptions = {}): Promise<ReportServer> {
  const file = catalogFile(config.catalog);
  const source = {
    look: () => readOverview(config),
    stamp: async () => (file === undefined ? null : catalogStamp(file)),
  };
  const { serve } = await import("./report/serve.js");
  return serve(source, options);
}
