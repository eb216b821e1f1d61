/** Looks at everything that a lake's upkeep rests on, and says of each thing what to do where it is not right. */
import { examineStorage } from "./doctor-storage.js";
import { isPostgres } from "./engine/catalog-copy.js";
import { CATALOG_RIGHTS } from "./engine/errors.js";
import { Engine, LAKE_NAME, METADATA_NAME } from "./engine/lake.js";
import { makeRedactor } from "./engine/redact.js";
import type { Session } from "./engine/session.js";
import { ConflictError, IvmError } from "./errors.js";
import { Lake } from "./lake.js";
import { dataPathOf, isInside, LOG_ELSEWHERE } from "./log/place.js";
import { quoteLiteral } from "./sql/quote.js";
import type { DoctorCheck, DoctorResult, LakeConfig } from "./types.js";
import { LAYOUT_VERSION } from "./view/migrations.js";
import { StateTables } from "./view/state.js";

/** The versions that this one was made and tested with, and whose known faults it works around. */
const TESTED = { engine: "v1.5.5", ducklake: "d8a1881e" } as const;
/** Clocks that are further apart make ages and retentions wrong by as much. */
const MOST_SKEW_MS = 10_000;
/** Files of writers that are under way are younger. */
const STRAY_DAYS = 1;
const OLDEST_NODE = [20, 19] as const;

/**
 * Checks engine, extensions, catalog, storage, clocks, the state schema, stray files and retention. Nothing stays that it
 * writes. It throws only where the caller's configuration is no configuration; what does not work is a check.
 */
export async function diagnose(config: LakeConfig): Promise<DoctorResult> {
  const doctor = new Doctor(config);
  const checks = await doctor.examine();
  return { ok: checks.every(({ status }) => status !== "error"), checks };
}

class Doctor {
  private readonly checks: DoctorCheck[] = [];
  private readonly redact: (text: string) => string;

  constructor(private readonly config: LakeConfig) {
    this.redact = makeRedactor(config).redact;
  }

  async examine(): Promise<readonly DoctorCheck[]> {
    this.node();
    const engine = await this.open();
    if (engine === undefined) {
      await this.storage(undefined);
      return this.checks;
    }
    const lake = new Lake(engine);
    try {
      const session = await engine.session();
      try {
        await this.storage(session);
        await this.versions(session);
        await this.rights(session, engine);
        await this.catalogClock(session, engine);
        await this.logPlace(session);
        const readable = await this.state(session, engine);
        if (readable) await this.upkeep(lake, session);
      } finally {
        session.close();
      }
    } finally {
      await lake.close();
    }
    return this.checks;
  }

  private node(): void {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
    this.add(
      "node",
      isOld ? "error" : "ok",
      `Node ${process.versions.node}`,
      isOld ? "Use Node 20.19 or newer." : null,
    );
  }

  private async open(): Promise<Engine | undefined> {
    try {
      const config = { ...this.config, retryForMs: this.config.retryForMs ?? 5_000 };
      const engine = await Engine.open(config, { mustExist: true });
      this.add("catalog", "ok", "The lake's catalog can be reached and attached.", null);
      return engine;
    } catch (error) {
      this.fault("catalog", error);
      return undefined;
    }
  }

  private async storage(session: Session | undefined): Promise<void> {
    const data = this.config.dataPath ?? (session === undefined ? undefined : await this.dataPath(session));
    for (const [name, path] of [
      ["data", data],
      ["log", this.config.log?.path],
    ] as const) {
      if (path === undefined) continue;
      const clock = (skewMs: number): void => this.clock(`${name}_clock`, skewMs, "the object storage", false);
      await examineStorage(this.config, { name, path, session, clock }, (check) => this.tell(check));
    }
  }

  private async dataPath(session: Session): Promise<string | undefined> {
    let path: string | undefined;
    await this.attempt("data_path", async () => {
      path = await dataPathOf(session);
    });
    return path;
  }

  private async versions(session: Session): Promise<void> {
    const { version } = await session.row<{ version: string }>("SELECT version() AS version");
    const other = "Install the version of @duckdb/node-api that this package names; others were not tested.";
    const isTested = version === TESTED.engine;
    const faults = isTested ? "; its known faults are worked around" : ", which was not tested";
    this.add("engine", isTested ? "ok" : "warning", `DuckDB ${version}${faults}`, isTested ? null : other);
    const extensions = await session.rows<{ name: string; version: string }>(
      `SELECT extension_name AS name, extension_version AS version FROM duckdb_extensions()
       WHERE loaded AND extension_name IN ('ducklake', 'httpfs', 'postgres_scanner', 'sqlite_scanner') ORDER BY 1`,
    );
    const isOther = extensions.some(({ name, version: found }) => name === "ducklake" && found !== TESTED.ducklake);
    const list = extensions.map((extension) => `${extension.name} ${extension.version}`).join(", ");
    const remedy = isOther ? "Its faults are not known here: run `verify` after the first refreshes." : null;
    this.add("extensions", isOther ? "warning" : "ok", list, remedy);
  }

  /** A write of what is there already, rolled back; of a server, what it says of all of its tables as well. */
  private async rights(session: Session, engine: Engine): Promise<void> {
    try {
      await session.run("BEGIN");
      try {
        await session.run(
          `UPDATE ${engine.metadataTable("ducklake_metadata")} SET value = value WHERE key = 'version'`,
        );
      } finally {
        await session.run("ROLLBACK").catch(() => undefined);
      }
      const missing = isPostgres(this.config.catalog) ? await this.missingRights(session) : "";
      if (missing === "") this.add("catalog_rights", "ok", "The catalog can be written.", null);
      else this.add("catalog_rights", "error", `The catalog's user has no right to ${missing}.`, CATALOG_RIGHTS);
    } catch (error) {
      if (error instanceof ConflictError) {
        this.add("catalog_rights", "skipped", `The catalog is in use by others: ${error.message}`, "Ask again later.");
        return;
      }
      this.add("catalog_rights", "error", `The catalog can't be written. ${messageOf(error)}`, CATALOG_RIGHTS);
    }
  }

  /** Rights that a commit needs and the server does not give, such as `INSERT (28 tables)`; empty where all are there. */
  private async missingRights(session: Session): Promise<string> {
    const schema = quoteLiteral(this.config.metadataSchema ?? "public");
    const { missing } = await session.row<{ missing: string | null }>(
      `SELECT missing FROM postgres_query(${quoteLiteral(METADATA_NAME)}, ${quoteLiteral(`
        SELECT string_agg(named, ', ' ORDER BY named) AS missing FROM (
          SELECT p.name || ' (' || count(*) || ' of its tables)' AS named
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS p(name)
          WHERE n.nspname = ${schema} AND c.relkind = 'r' AND starts_with(c.relname, 'ducklake_')
            AND NOT has_table_privilege(c.oid, p.name)
          GROUP BY p.name
          UNION ALL
          SELECT 'CREATE (its schema)' FROM pg_namespace n
          WHERE n.nspname = ${schema} AND NOT has_schema_privilege(n.oid, 'CREATE')
        ) AS rights`)})`,
    );
    return missing ?? "";
  }

  private async catalogClock(session: Session, engine: Engine): Promise<void> {
    const table = engine.metadataTable("ducklake_snapshot");
    const { ahead } = await session.row<{ ahead: bigint | null }>(
      `SELECT max(epoch_ms(CAST(snapshot_time AS TIMESTAMP WITH TIME ZONE))) - epoch_ms(now()) AS ahead FROM ${table}`,
    );
    this.clock("catalog_clock", Number(ahead ?? 0n), "the newest snapshot's commit", true);
    if (!isPostgres(this.config.catalog)) return;
    const database = quoteLiteral(METADATA_NAME);
    const { server } = await session.row<{ server: bigint }>(
      `SELECT CAST(ms AS BIGINT) AS server FROM postgres_query(${database}, 'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS ms')`,
    );
    this.clock("server_clock", Number(server) - Date.now(), "the catalog's server", false);
  }

  /** @param onlyAhead a past moment is no sign of a slow clock. */
  private clock(name: string, skewMs: number, what: string, onlyAhead: boolean): void {
    const isWrong = skewMs > MOST_SKEW_MS || (!onlyAhead && skewMs < -MOST_SKEW_MS);
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    const message = isWrong
      ? `This machine's clock and that of ${what} are ${seconds} seconds apart.`
      : `This machine's clock agrees with ${what}.`;
    const remedy = "Set the clocks by NTP: ages, retention and `now()` in views go by them.";
    this.add(name, isWrong ? "warning" : "ok", message, isWrong ? remedy : null);
  }

  private async logPlace(session: Session): Promise<void> {
    const path = this.config.log?.path;
    if (path === undefined) return;
    await this.attempt("log_place", async () => {
      const isWrong = isInside(path, await dataPathOf(session));
      const message = isWrong
        ? "The change logs are in the lake's data path."
        : "The change logs are a place of their own.";
      this.add("log_place", isWrong ? "warning" : "ok", message, isWrong ? LOG_ELSEWHERE : null);
    });
  }

  /** False where there is nothing of ours that could be looked at. */
  private async state(session: Session, engine: Engine): Promise<boolean> {
    try {
      const { layout, views } = await new StateTables(engine).read(session);
      if (layout === 0) {
        this.add("state", "ok", "The lake has no views of this tool yet.", null);
        return false;
      }
      const isOld = layout < LAYOUT_VERSION;
      const message = `The state schema has layout ${layout} and ${views.length} views.`;
      const remedy = `The next apply or refresh brings it to layout ${LAYOUT_VERSION}; older versions of this tool then refuse it.`;
      this.add("state", isOld ? "warning" : "ok", message, isOld ? remedy : null);
      return true;
    } catch (error) {
      this.fault("state", error);
      return false;
    }
  }

  private async upkeep(lake: Lake, session: Session): Promise<void> {
    if (this.config.log?.path !== undefined) {
      await this.attempt("stray_files", async () => {
        const { files } = await lake.sweep({ dryRun: true });
        const message = `${files.length} files of change logs are needed by nothing any more.`;
        this.add(
          "stray_files",
          files.length === 0 ? "ok" : "warning",
          message,
          files.length === 0 ? null : "Run `ducklake-ivm sweep`.",
        );
      });
    }
    await this.attempt("stray_data", async () => {
      const found = await session.rows(
        `CALL ducklake_delete_orphaned_files(${quoteLiteral(LAKE_NAME)}, dry_run => true, older_than => now() - INTERVAL ${STRAY_DAYS} DAY)`,
      );
      const message = `${found.length} files in the data path are older than a day and unknown to the lake.`;
      const remedy = "Where no other lake has its files there, run `ducklake-ivm maintain --orphans-older-than 1d`.";
      this.add("stray_data", found.length === 0 ? "ok" : "warning", message, found.length === 0 ? null : remedy);
    });
    await this.attempt("retention", async () => {
      const { warnings } = await lake.retention();
      const remedy =
        "Refresh before snapshots expire, and expire them with `ducklake-ivm maintain`, which spares those that are needed.";
      if (warnings.length === 0) this.add("retention", "ok", "Every snapshot that is needed is kept.", null);
      for (const { text } of warnings) this.add("retention", "warning", text, remedy);
    });
  }

  private async attempt(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.fault(name, error);
    }
  }

  private fault(name: string, error: unknown): void {
    const hint = error instanceof IvmError ? (error.hint ?? null) : null;
    const isConflict = error instanceof ConflictError;
    this.add(name, isConflict ? "warning" : "error", messageOf(error), hint);
  }

  private add(name: string, status: DoctorCheck["status"], message: string, remedy: string | null): void {
    this.tell({ name, status, message, remedy });
  }

  /** Not all that fails comes from an engine, which keeps secrets to itself. */
  private tell(check: DoctorCheck): void {
    this.checks.push({ ...check, message: this.redact(check.message) });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
