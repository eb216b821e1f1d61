import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import type { DuckDBConnection } from "@duckdb/node-api";
import { EngineError } from "../errors.js";
import { type Logger, silentLogger } from "../logger.js";
import { quoteLiteral } from "../sql/quote.js";
import { isPostgres, isSqlite } from "./catalog-copy.js";

/** The extensions that this project needs, and those that its tests and benchmarks make data with. */
export type ExtensionName = "ducklake" | "httpfs" | "postgres_scanner" | "sqlite_scanner" | "tpch" | "tpcds";

/** What a catalog's kind needs: `postgres:…`, `sqlite:…`, or a DuckDB file. */
export function catalogExtensions(catalog: string): readonly ExtensionName[] {
  if (isPostgres(catalog)) return ["postgres_scanner"];
  return isSqlite(catalog) ? ["sqlite_scanner"] : [];
}

export interface ExtensionOptions {
  /** A folder with `<name>.duckdb_extension` files, searched first; the environment's `DUCKLAKE_IVM_EXTENSION_DIR` comes next. */
  readonly directory?: string | undefined;
  /** Where downloaded extensions are kept. Default: `ducklake-ivm/extensions` in the user's cache folder. */
  readonly cacheDirectory?: string | undefined;
  readonly logger?: Logger | undefined;
}

/** Where a loaded extension came from; `loaded` where the instance had it already. */
export type ExtensionOrigin = "loaded" | "directory" | "installed" | "cache" | "duckdb" | "wheel";

const INSTALL_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 300_000;

/**
 * Loads a DuckDB extension into the connection's instance, from the first place that has one which the engine takes:
 * a configured folder, DuckDB's installed extensions, this project's cache, DuckDB's own repository, and last the
 * Python wheel of the same version, which is how the signed binaries reach networks that only mirror PyPI.
 */
export async function loadExtension(
  connection: DuckDBConnection,
  name: ExtensionName,
  options: ExtensionOptions = {},
): Promise<ExtensionOrigin> {
  const known = await extensionState(connection, name);
  if (known.loaded) return "loaded";
  const engine = await engineIdentity(connection);
  const target: Target = {
    connection,
    name,
    engine,
    installed: known.installed,
    cacheFolder: join(options.cacheDirectory ?? defaultCacheDirectory(), engine.version, engine.platform),
    logger: options.logger ?? silentLogger,
  };

  const failures: string[] = [];
  for (const place of places(target, options.directory)) {
    try {
      await place.load();
      target.logger.debug("extension loaded", { extension: name, origin: place.origin, place: place.label });
      return place.origin;
    } catch (error) {
      const failure = `${place.label}: ${describeFailure(error)}`;
      target.logger.debug("extension not loaded", { extension: name, failure });
      failures.push(failure);
    }
  }
  throw new EngineError(
    "extension_unavailable",
    [
      `DuckDB's extension ${name} (${engine.version}, ${engine.platform}) could not be loaded. Tried, in this order:`,
      ...failures.map((failure) => `  - ${failure}`),
    ].join("\n"),
    {
      hint: `Allow access to extensions.duckdb.org or to PyPI (pip's own settings for mirrors are used), or put a signed ${fileName(name)} of ${engine.version} for ${engine.platform} into a folder and name it in DUCKLAKE_IVM_EXTENSION_DIR.`,
    },
  );
}

interface Target {
  readonly connection: DuckDBConnection;
  readonly name: ExtensionName;
  readonly engine: { readonly version: string; readonly platform: string };
  readonly installed: boolean;
  readonly cacheFolder: string;
  readonly logger: Logger;
}

/** One place to get an extension from; `load` throws where it is not there or the engine refuses it. */
interface Place {
  readonly origin: ExtensionOrigin;
  readonly label: string;
  load(): Promise<void>;
}

function places(target: Target, directory: string | undefined): Place[] {
  const { name } = target;
  const cached = join(target.cacheFolder, fileName(name));
  const requirement = wheelRequirement(target);
  return [
    ...configuredFolders(directory).map(({ folder, setting }): Place => {
      const path = join(folder, fileName(name));
      return { origin: "directory", label: `${setting} (${path})`, load: () => loadFile(target, path) };
    }),
    { origin: "installed", label: "DuckDB's installed extensions", load: () => loadInstalled(target) },
    { origin: "cache", label: `cache (${cached})`, load: () => loadCached(target, cached) },
    { origin: "duckdb", label: "INSTALL from DuckDB's repository", load: () => installAndLoad(target) },
    { origin: "wheel", label: `pip download ${requirement}`, load: () => loadWheel(target, requirement, cached) },
  ];
}

function configuredFolders(directory: string | undefined): { folder: string; setting: string }[] {
  const fromEnvironment = process.env["DUCKLAKE_IVM_EXTENSION_DIR"];
  const folders: { folder: string; setting: string }[] = [];
  if (directory) folders.push({ folder: directory, setting: "configured folder" });
  if (fromEnvironment) folders.push({ folder: fromEnvironment, setting: "DUCKLAKE_IVM_EXTENSION_DIR" });
  return folders;
}

async function loadFile(target: Target, path: string): Promise<void> {
  // The engine's own message for a missing file proposes extensions of similar names, which would mislead here.
  if (!(await isFile(path))) throw new Error("no such file");
  await target.connection.run(`LOAD ${quoteLiteral(path)}`);
}

async function loadInstalled(target: Target): Promise<void> {
  // LOAD by name of an extension that is not installed would start a download that nothing bounds.
  if (!target.installed) throw new Error("not installed");
  await target.connection.run(`LOAD ${target.name}`);
}

async function loadCached(target: Target, path: string): Promise<void> {
  try {
    await loadFile(target, path);
  } catch (error) {
    const forbidden = error instanceof Error && error.message.startsWith("Permission Error");
    if (!forbidden && (await isFile(path))) {
      target.logger.warn("cached extension is damaged; fetching it again", { extension: target.name, path });
      await rm(path, { force: true });
    }
    throw error;
  }
}

/** Settings that decide where INSTALL reads from and writes to. */
const INSTALL_SETTINGS = [
  "extension_directory",
  "home_directory",
  "custom_extension_repository",
  "http_proxy",
  "http_proxy_username",
  "http_proxy_password",
];

const INSTALL_PROGRAM = `
const { DuckDBInstance } = require(process.argv[1]);
const { settings, name } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
DuckDBInstance.create(":memory:", settings)
  .then((instance) => instance.connect())
  .then((connection) => connection.run("INSTALL " + name))
  .catch((error) => { process.stderr.write(error.message); process.exitCode = 1; });
`;

/**
 * INSTALL runs in a process of its own: behind a network that swallows packets it hangs for minutes, can't be
 * interrupted, and would hold the caller's connection all the while.
 */
async function installAndLoad(target: Target): Promise<void> {
  const reader = await target.connection.runAndReadAll(
    `SELECT name, value FROM duckdb_settings() WHERE value <> '' AND name IN (${INSTALL_SETTINGS.map(quoteLiteral).join(", ")})`,
  );
  const settings = Object.fromEntries(reader.getRowsJson());
  const binding = createRequire(import.meta.url).resolve("@duckdb/node-api");
  target.logger.info("installing a DuckDB extension", { extension: target.name, from: "DuckDB's repository" });
  await runProgram(process.execPath, ["-e", INSTALL_PROGRAM, binding], {
    timeout: INSTALL_TIMEOUT_MS,
    input: JSON.stringify({ settings, name: target.name }),
  });
  await target.connection.run(`LOAD ${target.name}`);
}

/** Fetches the wheel with pip, which knows the machine's mirrors and certificates, and keeps its binary in the cache. */
async function loadWheel(target: Target, requirement: string, cached: string): Promise<void> {
  target.logger.info("installing a DuckDB extension", { extension: target.name, from: `pip download ${requirement}` });
  const { folder, publish } = await workFolder(target);
  // Python looks for modules in the working directory first: run it where nothing of the user's lies.
  const python = (args: string[]) => runProgram("python3", args, { timeout: DOWNLOAD_TIMEOUT_MS, directory: folder });
  try {
    const options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--quiet"];
    await python(["-m", "pip", "download", ...options, "--dest", folder, requirement]);
    const wheel = (await readdir(folder)).find((file) => file.endsWith(".whl"));
    if (wheel === undefined) throw new Error("pip downloaded no wheel");
    await python(["-m", "zipfile", "-e", join(folder, wheel), folder]);
    const binary = (await readdir(folder, { recursive: true })).find((file) => file.endsWith(fileName(target.name)));
    if (binary === undefined) throw new Error(`${wheel} holds no ${fileName(target.name)}`);
    // Loaded before it is published, so that the cache never holds what the engine refuses.
    await loadFile(target, join(folder, binary));
    if (publish) await rename(join(folder, binary), cached);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A fresh folder beside the cached files, so that publishing is one rename; elsewhere where the cache can't be written. */
async function workFolder(target: Target): Promise<{ folder: string; publish: boolean }> {
  try {
    await mkdir(target.cacheFolder, { recursive: true });
    return { folder: await mkdtemp(join(target.cacheFolder, ".download-")), publish: true };
  } catch (error) {
    target.logger.warn("the extension cache can't be written", {
      folder: target.cacheFolder,
      failure: describeFailure(error),
    });
    return { folder: await mkdtemp(join(tmpdir(), "ducklake-ivm-extension-")), publish: false };
  }
}

function wheelRequirement(target: Target): string {
  return `duckdb-extension-${target.name.replaceAll("_", "-")}==${target.engine.version.replace(/^v/, "")}`;
}

function fileName(name: ExtensionName): string {
  return `${name}.duckdb_extension`;
}

function defaultCacheDirectory(): string {
  const configured = process.env["XDG_CACHE_HOME"];
  const base = configured && isAbsolute(configured) ? configured : join(homedir(), ".cache");
  return join(base, "ducklake-ivm", "extensions");
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );
}

async function extensionState(
  connection: DuckDBConnection,
  name: ExtensionName,
): Promise<{ loaded: boolean; installed: boolean }> {
  const reader = await connection.runAndReadAll(
    `SELECT loaded, installed FROM duckdb_extensions() WHERE extension_name = ${quoteLiteral(name)}`,
  );
  const [row] = reader.getRowsJson();
  return { loaded: row?.[0] === true, installed: row?.[1] === true };
}

async function engineIdentity(connection: DuckDBConnection): Promise<{ version: string; platform: string }> {
  const reader = await connection.runAndReadAll("SELECT version(), platform FROM pragma_platform()");
  const [row] = reader.getRowsJson();
  return { version: String(row?.[0]), platform: String(row?.[1]) };
}

interface ProgramOptions {
  readonly timeout: number;
  readonly directory?: string;
  readonly input?: string;
}

/** Runs a program to its end; a failure carries what the program itself said. */
async function runProgram(file: string, args: readonly string[], options: ProgramOptions): Promise<void> {
  const running = promisify(execFile)(file, args, {
    timeout: options.timeout,
    killSignal: "SIGKILL",
    cwd: options.directory,
  });
  running.child.stdin?.on("error", () => undefined); // a program that never started: `running` tells why
  running.child.stdin?.end(options.input ?? "");
  try {
    await running;
  } catch (error) {
    const failure = error as { code?: unknown; killed?: boolean; stderr?: string; message: string };
    if (failure.code === "ENOENT") throw new Error(`${file} is not on PATH`);
    if (failure.killed) throw new Error(`no answer within ${options.timeout / 1000} s`);
    throw new Error(failure.stderr?.trim() || failure.message);
  }
}

/** One line that is short enough for a list and holds no password of a mirror's address. */
function describeFailure(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).split("\n").filter((line) => line.trim());
  // pip warns of every retry before it says what went wrong.
  const said = lines.filter((line) => line.startsWith("ERROR:"));
  const text = (said.length > 0 ? said : lines).join(" ").replaceAll(/\/\/[^/\s@]+@/g, "//***@");
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
