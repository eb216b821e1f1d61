import { DuckDBInstance } from "@duckdb/node-api";
import pLimit from "p-limit";
import { ConfigError, IvmError, LakeError } from "../errors.js";
import { type Logger, silentLogger } from "../logger.js";
import { quoteIdentifier, quoteLiteral, quotePath } from "../sql/quote.js";
import type { LakeConfig } from "../types.js";
import { requireSameLake } from "./attached.js";
import { isSqlite, noLake, requireCatalogFile } from "./catalog-copy.js";
import { type CatalogMark, firstMark, type MarkedCatalog, nextMark } from "./catalog-mark.js";
import { FILE_MISSING } from "./errors.js";
import { catalogExtensions, type ExtensionName, loadExtension } from "./extensions.js";
import { makeRedactor, passwordsOf } from "./redact.js";
import { Patience, retryConflicts } from "./retry.js";
import { EngineRules } from "./rules.js";
import { createS3Secret } from "./s3.js";
import { Session } from "./session.js";
import { writeAhead } from "./write-ahead.js";

/** The name under which the lake is attached. */
export const LAKE_NAME = "lake";

/** The name under which DuckLake attaches the lake's catalog. */
export const METADATA_NAME = `__ducklake_metadata_${LAKE_NAME}`;

export interface EngineOptions {
  /** An instance to work in; it is then the caller's to close. */
  readonly instance?: DuckDBInstance;
  readonly logger?: Logger;
  /** Attach the lake so that nothing in it can be written; one that does not exist is then an error. */
  readonly readOnly?: boolean;
  /** A lake that does not exist is an error too, and is not made. */
  readonly mustExist?: boolean;
}

/** A database that is attached beside the lake. */
export interface OtherDatabase {
  /** As ATTACH takes it. */
  readonly address: string;
  readonly name: string;
  readonly type?: "postgres";
  readonly extensions: readonly ExtensionName[];
}

/** A DuckDB instance with the lake attached. */
export class Engine {
  private limitedSchemas: ReadonlySet<string> = new Set();
  /** What of DuckDB is off, and for which work. */
  readonly rules = new EngineRules();
  private readonly commits = pLimit(1);
  /** A session that a call has left as it found it, for the next one. */
  private idle: Session | undefined;
  /** Where the catalog stood when it was last looked at. */
  private mark: CatalogMark | undefined;
  private readonly marking = pLimit(1);
  /** True where the lake was detached and could not be attached again since. */
  private detached = false;

  private constructor(
    readonly instance: DuckDBInstance,
    private readonly ownsInstance: boolean,
    readonly config: LakeConfig,
    readonly redact: (text: string) => string,
    private readonly addSecret: (secret: string) => void,
    private readonly access: Pick<EngineOptions, "readOnly" | "mustExist">,
  ) {}

  static async open(config: LakeConfig, options: EngineOptions = {}): Promise<Engine> {
    const logger = options.logger ?? silentLogger;
    const instance = options.instance ?? (await createInstance(config));
    const { redact, add } = makeRedactor(config);
    const engine = new Engine(instance, options.instance === undefined, config, redact, add, options);
    try {
      const session = await engine.rawSession();
      try {
        // A file of SQLite is locked for moments; one of DuckDB for as long as its process lives, which is not waited for.
        const limits = { patience: new Patience(config.retryForMs) };
        await retryConflicts(
          () => engine.attach(session, logger),
          async () => undefined,
          limits,
        );
        engine.mark = await firstMark(session, engine.marked);
      } finally {
        session.close();
      }
      return engine;
    } catch (error) {
      engine.close();
      throw error;
    }
  }

  /**
   * A new connection with the lake in use, safe for reads of old versions.
   * @param signal its abort ends whatever runs there.
   * @param patience what the call that it is for may wait for other writers.
   */
  async session(signal?: AbortSignal, patience?: Patience): Promise<Session> {
    const idle = this.idle;
    this.idle = undefined;
    const session = idle?.renewed(signal, patience) ?? (await this.rawSession(signal, patience));
    try {
      if (this.detached) await this.reattach(session);
      if (idle === undefined) await session.run(`USE ${quoteIdentifier(LAKE_NAME)}`);
      await this.rules.disable(session);
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /** Takes back a session whose call has left no table, transaction or setting behind. */
  keep(session: Session): void {
    this.idle?.close();
    this.idle = session;
  }

  /** Attaches the lake anew, for a picture of the catalog that has gone stale. */
  reattach(session: Session): Promise<void> {
    return session.despiteAbort(() => this.attachAnew(session));
  }

  /**
   * Attaches the lake anew where its catalog was restored from a backup since it was last looked at. True where it was:
   * whatever is known of snapshots is then to be forgotten.
   */
  heedRestored(session: Session): Promise<boolean> {
    return this.marking(async () => {
      if (this.mark === undefined) return false;
      const next = await nextMark(session, this.marked, this.mark);
      if (typeof next === "object") {
        this.mark = next;
        return false;
      }
      // A file of DuckDB that is closed takes the log of the file that has come in its place with it.
      if (next === "replaced") await session.run("PRAGMA disable_checkpoint_on_shutdown");
      try {
        await this.reattach(session);
      } finally {
        if (next === "replaced") await session.despiteAbort(() => session.run("PRAGMA enable_checkpoint_on_shutdown"));
      }
      this.mark = await firstMark(session, this.marked);
      return true;
    });
  }

  /**
   * Looks where the catalog stands after work of ours, so that one that is restored to a time before it is told.
   * @param newest the newest snapshot that the work has seen, where that is known.
   */
  noteCatalog(session: Session, newest?: bigint): Promise<void> {
    return this.marking(async () => {
      if (this.mark === undefined || this.mark.snapshot === newest) return;
      const next = await nextMark(session, this.marked, this.mark);
      if (typeof next === "object") this.mark = next;
    });
  }

  private get marked(): MarkedCatalog {
    return {
      catalog: this.config.catalog,
      lake: LAKE_NAME,
      snapshots: this.metadataTable("ducklake_snapshot"),
    };
  }

  private async attachAnew(session: Session): Promise<void> {
    if (!this.detached) {
      const [other] = await session.rows<{ name: string }>(
        "SELECT database_name AS name FROM duckdb_databases() WHERE NOT internal AND path IS NULL ORDER BY database_oid LIMIT 1",
      );
      await session.run(`USE ${quoteIdentifier(other?.name ?? "memory")}`);
      await session.run(`DETACH ${quoteIdentifier(LAKE_NAME)}`);
      this.detached = true;
    }
    await this.attach(session, silentLogger);
    this.detached = false;
    await session.run(`USE ${quoteIdentifier(LAKE_NAME)}`);
  }

  /**
   * Runs a transaction of this process that writes to the tables of the state schema after those that came before: two
   * at once that change a table get a conflict.
   */
  committing<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.commits(work);
  }

  /** Makes files in object storage and on the web readable, in a lake that has no use for that itself. */
  async reachStorage(session: Session, kind: "s3" | "https"): Promise<void> {
    const extensions = { directory: this.config.engine?.extensionDirectory, logger: silentLogger };
    if (kind === "https") await loadExtension(session.connection, "httpfs", extensions);
    else await this.prepareS3(session, extensions);
  }

  /** Keeps a text out of all messages from now on. */
  hide(secret: string): void {
    this.addSecret(secret);
  }

  /** Attaches another database beside the lake, whose address may hold a password; it is never told. */
  async attachOther(session: Session, database: OtherDatabase): Promise<void> {
    for (const password of passwordsOf(database.address)) this.addSecret(password);
    const extensions = { directory: this.config.engine?.extensionDirectory, logger: silentLogger };
    for (const name of database.extensions) await loadExtension(session.connection, name, extensions);
    const type = database.type === undefined ? "" : ` (TYPE ${database.type})`;
    await session.run(`ATTACH ${quoteLiteral(database.address)} AS ${quoteIdentifier(database.name)}${type}`);
  }

  /** An open read of a SQLite catalog keeps every writer waiting, so there no reads are put together. */
  get readsTogether(): boolean {
    return !isSqlite(this.config.catalog);
  }

  /** The schema of this project's own tables. */
  get stateSchema(): string {
    return this.config.stateSchema ?? "ivm";
  }

  /** One of the catalog's own tables, quoted. */
  metadataTable(name: string): string {
    const schema = this.config.metadataSchema;
    return quotePath(schema === undefined ? [METADATA_NAME, name] : [METADATA_NAME, schema, name]);
  }

  close(): void {
    this.idle?.close();
    this.idle = undefined;
    if (this.ownsInstance) this.instance.closeSync();
  }

  private async rawSession(signal?: AbortSignal, patience?: Patience): Promise<Session> {
    return new Session(await this.instance.connect(), this.redact, signal, patience);
  }

  private async attach(session: Session, logger: Logger): Promise<void> {
    await session.run("SET autoinstall_known_extensions = false");
    // Files of change logs are read in the order of their keys. A setting of the whole instance.
    await session.run("SET preserve_insertion_order = true");
    const catalog = this.config.catalog.replace(/^ducklake:/i, "");
    const { readOnly = false, mustExist = readOnly } = this.access;
    // An attachment leaves an empty file behind where it finds none and may not make a lake.
    if (mustExist) await requireCatalogFile(catalog, this.redact);
    if (!this.ownsInstance) await requireSameLake(session, LAKE_NAME, catalog, this.config.metadataSchema);
    const extensions = { directory: this.config.engine?.extensionDirectory, logger };
    await loadExtension(session.connection, "ducklake", extensions);
    for (const name of catalogExtensions(catalog)) await loadExtension(session.connection, name, extensions);

    const onS3 = [this.config.dataPath, this.config.log?.path].some((path) => path?.startsWith("s3://") === true);
    if (onS3 || this.config.s3 !== undefined) await this.prepareS3(session, extensions);

    const parts = [
      ...(this.config.dataPath === undefined ? [] : [`DATA_PATH ${quoteLiteral(this.config.dataPath)}`]),
      ...(this.config.metadataSchema === undefined
        ? []
        : [`METADATA_SCHEMA ${quoteLiteral(this.config.metadataSchema)}`]),
      ...(readOnly ? ["READ_ONLY"] : []),
      ...(mustExist && !readOnly ? ["CREATE_IF_NOT_EXISTS false"] : []),
    ];
    await this.attachCatalog(session, catalog, parts);
    // Only now is it known that the file is a lake's, and not one of somebody else's.
    if (isSqlite(catalog) && !readOnly) await writeAhead(session, catalog, METADATA_NAME);
    if (!onS3 && this.config.s3 === undefined && (await this.storedOption(session, "data_path")).startsWith("s3://")) {
      await this.prepareS3(session, extensions);
    }
    this.limitedSchemas = await this.readLimitedSchemas(session);
    // DuckDB's own cipher only reads; httpfs brings the one that writes.
    if ((await this.storedOption(session, "encrypted")) === "true") {
      await loadExtension(session.connection, "httpfs", extensions);
    }
  }

  private async attachCatalog(session: Session, catalog: string, options: readonly string[]): Promise<void> {
    const clause = options.length === 0 ? "" : ` (${options.join(", ")})`;
    try {
      await session.run(
        `ATTACH IF NOT EXISTS ${quoteLiteral(`ducklake:${catalog}`)} AS ${quoteIdentifier(LAKE_NAME)}${clause}`,
      );
    } catch (error) {
      throw this.attachError(error);
    }
  }

  /**
   * True where the attachment knows that the schema has a limit for inlined rows. An attachment reads the lake's options
   * once: of one that another process sets later it knows nothing.
   */
  knowsInliningLimit(schema: string): boolean {
    return this.limitedSchemas.has(schema.toLowerCase());
  }

  private async readLimitedSchemas(session: Session): Promise<ReadonlySet<string>> {
    const rows = await session.rows<{ name: string }>(
      `SELECT s.schema_name AS name FROM ${this.metadataTable("ducklake_metadata")} o
       JOIN ${this.metadataTable("ducklake_schema")} s ON s.schema_id = o.scope_id AND s.end_snapshot IS NULL
       WHERE o.key = 'data_inlining_row_limit' AND o.scope = 'schema'`,
    );
    return new Set(rows.map((row) => row.name.toLowerCase()));
  }

  private async prepareS3(
    session: Session,
    extensions: { directory: string | undefined; logger: Logger },
  ): Promise<void> {
    await loadExtension(session.connection, "httpfs", extensions);
    await createS3Secret(session, this.config.s3 ?? {}, this.addSecret);
  }

  private async storedOption(session: Session, key: string): Promise<string> {
    const rows = await session.rows<{ value: string }>(
      `SELECT value FROM ${this.metadataTable("ducklake_metadata")} WHERE key = ${quoteLiteral(key)}`,
    );
    return rows[0]?.value ?? "";
  }

  private attachError(error: unknown): Error {
    if (!(error instanceof IvmError) || !["engine_error", FILE_MISSING].includes(error.code)) return error as Error;
    if (/creating a new DuckLake is explicitly disabled/i.test(error.message)) {
      return noLake("the catalog holds none", {}, error);
    }
    if (/DATA_PATH/i.test(error.message)) {
      return new ConfigError("data_path_wrong", `The lake could not be attached. ${error.message}`, {
        hint: "Give `data_path` for a new lake; for one that exists leave it out or give the path it was made with.",
        cause: error,
      });
    }
    return new LakeError("catalog_unreachable", `The lake could not be attached. ${error.message}`, {
      hint: "Check `lake.catalog` in the configuration, and that its file or server can be reached.",
      cause: error,
    });
  }
}

async function createInstance(config: LakeConfig): Promise<DuckDBInstance> {
  const settings: Record<string, string> = {};
  if (config.engine?.threads !== undefined) settings["threads"] = String(config.engine.threads);
  if (config.engine?.memoryLimit !== undefined) settings["memory_limit"] = config.engine.memoryLimit;
  if (config.engine?.tempDirectory !== undefined) settings["temp_directory"] = config.engine.tempDirectory;
  try {
    return await DuckDBInstance.create(":memory:", settings);
  } catch (error) {
    throw new ConfigError("engine_setting", `DuckDB refuses a setting of \`engine\`: ${(error as Error).message}`, {
      hint: "Write `threads` as a number and `memory_limit` as a size such as 4GB.",
      cause: error,
    });
  }
}
