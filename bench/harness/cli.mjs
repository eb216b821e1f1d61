/** The real command line, as a process that can be watched, frozen and killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** Writes a project: its configuration from the lake's place, and a file a view. */
export async function writeProject(folder, { place, log, engine, views }) {
  await mkdir(join(folder, "views"), { recursive: true });
  const sections = {
    lake: { catalog: place.catalog, data_path: place.dataPath, metadata_schema: place.metadataSchema },
    ...(place.s3 === undefined
      ? {}
      : { s3: { endpoint: place.s3.endpoint, region: place.s3.region, url_style: "path", use_ssl: false } }),
    ...(log === undefined ? {} : { log }),
    ...(engine === undefined ? {} : { engine }),
  };
  // JSON is YAML. Names with a dollar sign would be taken for variables; there are none.
  await writeFile(join(folder, "ducklake-ivm.yaml"), JSON.stringify(sections, null, 2));
  await writeViews(folder, views);
}

/** @param views by name: the query, and optionally its key and settings. */
export async function writeViews(folder, views) {
  for (const [name, { sql, ...header }] of Object.entries(views)) {
    const lines = Object.entries(header).map(([key, value]) => `${key}: ${value}`);
    const text = lines.length === 0 ? sql : `/* ---\n${lines.join("\n")}\n--- */\n${sql}`;
    await writeFile(join(folder, "views", `${name}.sql`), `${text}\n`);
  }
}

/** The keys of a store, as the AWS credential chain finds them. */
export function s3Environment(s3) {
  return s3 === undefined ? {} : { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey };
}

export class CliProcess {
  #out = "";
  #errors = "";
  #began = performance.now();
  /** Highest resident set seen, in bytes; 0 where the system does not tell. */
  peak = 0;

  constructor(args, { cwd, env = {}, watchMemory = false }) {
    this.child = spawn(process.execPath, [MAIN, ...args, "--output", "json"], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stdout.on("data", (chunk) => {
      this.#out = (this.#out + chunk).slice(-4_000_000);
    });
    this.child.stderr.on("data", (chunk) => {
      this.#errors = (this.#errors + chunk).slice(-20_000);
    });
    const timer = watchMemory ? setInterval(() => this.#look(), 20) : undefined;
    this.ended = once(this.child, "close").then(([code, signal]) => {
      clearInterval(timer);
      return this.#outcome(code, signal);
    });
  }

  /** True while the process is there. */
  get running() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  kill(signal) {
    return this.running && this.child.kill(signal);
  }

  /** Waits for the end; a process that takes longer is killed, and that is an outcome of its own. */
  async within(milliseconds) {
    let hung = false;
    const timer = setTimeout(() => {
      hung = true;
      this.child.kill("SIGKILL");
    }, milliseconds);
    const outcome = await this.ended;
    clearTimeout(timer);
    return { ...outcome, hung };
  }

  #outcome(code, signal) {
    const last = this.#out.trimEnd().split("\n").at(-1) ?? "";
    let json;
    try {
      json = JSON.parse(last);
    } catch {
      // Killed before it could say anything.
    }
    return {
      code,
      signal,
      json,
      out: this.#out,
      errors: this.#errors,
      peak: this.peak,
      elapsedMs: performance.now() - this.#began,
    };
  }

  #look() {
    try {
      const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.child.pid}/status`, "utf8"));
      if (found !== null) this.peak = Math.max(this.peak, Number(found[1]) * 1024);
    } catch {
      // It has ended, or this system has no such file.
    }
  }
}

/** Runs a command to its end. */
export function runCli(args, options) {
  return new CliProcess(args, options).within(options.timeoutMs ?? 600_000);
}

/** What went wrong in an outcome, as one text. */
export function failureOf(outcome) {
  const errors = [outcome.json?.error, ...(outcome.json?.views ?? []).map((view) => view.error)].filter(Boolean);
  const said = errors.map((error) => `${error.code}: ${error.message}`).join("; ");
  const how = outcome.hung ? "it hung" : (outcome.signal ?? `exit ${outcome.code}`);
  return `${how} ${said === "" ? outcome.errors.trim().slice(-600) : said}`.slice(0, 900);
}
