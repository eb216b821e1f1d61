/** Looks at everything that a lake's upkeep rests on, and says of each thing what to do where it is not right. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rmdir, writeFile } from "node:fs/promises";
import { Engine, METADATA_NAME } from "./engine/lake.js";
import type { Session } from "./engine/session.js";
import { ConflictError, IvmError } from "./errors.js";
import { Lake } from "./lake.js";
import { openStore } from "./log/open-store.js";
import { dataPathOf, isInside, LOG_ELSEWHERE } from "./log/place.js";
import type { ObjectStore } from "./log/store.js";
import { quoteLiteral } from "./sql/quote.js";
import type { DoctorCheck, DoctorResult, LakeConfig } from "./types.js";
import { LAYOUT_VERSION } from "./view/migrations.js";
import { StateTables } from "./view/state.js";

/** The versions that this one was made and tested with, and whose known faults it works around. */
const TESTED = { engine: "v1.5.5", ducklake: "d8a1881e" } as const;
/** Clocks that are further apart make ages and retentions wrong by as much. */
const MOST_SKEW_MS = 10_000;
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

  constructor(private readonly config: LakeConfig) {}

  async examine(): Promise<readonly DoctorCheck[]> {
    this.node();
    const engine = await this.open();
    for (const [name, path] of [
      ["data", this.config.dataPath ?? (await this.dataPath(engine))],
      ["log", this.config.log?.path],
    ] as const) {
      if (path !== undefined) await this.storage(name, path);
    }
    if (engine === undefined) return this.checks;
    const lake = new Lake(engine);
    try {
      const session = await engine.session();
      try {
        await this.versions(session);
        await this.rights(session, engine);
        await this.catalogClock(session, engine);
        await this.logPlace(session);
        const readable = await this.state(session, engine);
        if (readable) await this.upkeep(lake);
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

  private async dataPath(engine: Engine | undefined): Promise<string | undefined> {
    if (engine === undefined) return undefined;
    const session = await engine.session();
    try {
      return await dataPathOf(session);
    } finally {
      session.close();
    }
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

  /** A write of what is there already, rolled back. */
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
      this.add("catalog_rights", "ok", "The catalog can be written.", null);
    } catch (error) {
      if (error instanceof ConflictError) {
        this.add("catalog_rights", "skipped", `The catalog is in use by others: ${error.message}`, "Ask again later.");
        return;
      }
      const remedy =
        "Give the catalog's user SELECT, INSERT, UPDATE and DELETE on its tables and CREATE on its schema; a file must be writable.";
      this.add("catalog_rights", "error", `The catalog can't be written. ${messageOf(error)}`, remedy);
    }
  }

  private async catalogClock(session: Session, engine: Engine): Promise<void> {
    const table = engine.metadataTable("ducklake_snapshot");
    const { ahead } = await session.row<{ ahead: bigint | null }>(
      `SELECT max(epoch_ms(CAST(snapshot_time AS TIMESTAMP WITH TIME ZONE))) - epoch_ms(now()) AS ahead FROM ${table}`,
    );
    this.clock("catalog_clock", Number(ahead ?? 0n), "the newest snapshot's commit", true);
    if (!/^(ducklake:)?postgres:/i.test(this.config.catalog)) return;
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

  private async upkeep(lake: Lake): Promise<void> {
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
    await this.attempt("retention", async () => {
      const { warnings } = await lake.retention();
      const remedy =
        "Refresh before snapshots expire, and expire them with `ducklake-ivm maintain`, which spares those that are needed.";
      if (warnings.length === 0) this.add("retention", "ok", "Every snapshot that is needed is kept.", null);
      for (const { text } of warnings) this.add("retention", "warning", text, remedy);
    });
  }

  /** Writes, swaps, lists and removes a small object of its own. */
  private async storage(name: "data" | "log", path: string): Promise<void> {
    const store = openStore({ ...this.config, log: { path } });
    if (store === undefined) return;
    const isNewFolder = !path.startsWith("s3://") && !existsSync(path);
    const probe = `ivm_doctor_${randomUUID()}`;
    const place = name === "data" ? "data path" : "log root";
    const attempt = async (right: string, work: () => Promise<string | undefined>): Promise<boolean> => {
      try {
        const wrong = await work();
        const status = wrong === undefined ? "ok" : "error";
        this.add(
          `${name}_${right}`,
          status,
          wrong ?? `The ${place} allows: ${right.replace("_", " ")}.`,
          wrong === undefined ? null : SWAP_REMEDY,
        );
        return wrong === undefined;
      } catch (error) {
        const remedy = `Give this user the right to ${right.replace("_", " ")} at the ${place}${path.startsWith("s3://") ? ` (${S3_RIGHTS[right]})` : ""}.`;
        this.add(
          `${name}_${right}`,
          "error",
          `The ${place} refuses: ${right.replace("_", " ")}. ${messageOf(error)}`,
          remedy,
        );
        return false;
      }
    };
    try {
      const put = await attempt("put", async () => {
        await store.write(`${probe}.put`, (file) => writeFile(file, "doctor"));
        return undefined;
      });
      if (name === "log") await attempt("conditional_put", () => swaps(store, `${probe}.swap`));
      await attempt("list", async () => {
        const [found] = await store.list(probe);
        if (found !== undefined && path.startsWith("s3://")) {
          this.clock(`${name}_clock`, found.modified.getTime() - Date.now(), "the object storage", false);
        }
        return undefined;
      });
      if (put) {
        await attempt("delete", async () => {
          await store.remove([`${probe}.put`, `${probe}.swap`]);
          return undefined;
        });
      }
    } finally {
      store.close();
      if (isNewFolder) await rmdir(path).catch(() => undefined);
    }
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
    this.checks.push({ name, status, message, remedy });
  }
}

const SWAP_REMEDY = "Use storage that obeys If-Match and If-None-Match in PUT: manifests would otherwise lose updates.";

const S3_RIGHTS: Readonly<Record<string, string>> = {
  put: "s3:PutObject",
  conditional_put: "s3:PutObject",
  list: "s3:ListBucket",
  delete: "s3:DeleteObject",
};

/** What is wrong with conditional writes; undefined where nothing is. */
async function swaps(store: ObjectStore, name: string): Promise<string | undefined> {
  if (!(await store.swapText(name, "one", undefined))) return "A conditional put of a new object was refused.";
  if (await store.swapText(name, "two", undefined)) return "A conditional put overwrote an object that was there.";
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
