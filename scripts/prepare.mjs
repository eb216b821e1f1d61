/** What start and test need before anything of this project's can run: dependencies and a build. Plain Node only. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Installs where node_modules is not what the lockfile says, then builds. Ends this process where either fails. */
export async function prepare() {
  if (!(await isInstalled())) await npm(["ci", "--no-audit", "--no-fund"]);
  await npm(["run", "--silent", "build"]);
}

/** Runs a program on this terminal; answers its exit code, as a shell does where a signal ended it. */
export async function run(program, args) {
  const child = spawn(program, args, { cwd: ROOT, stdio: "inherit" });
  // The terminal sends Ctrl-C to the child as well: it decides how to end, and this process reports it.
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  const pass = (signal) => child.kill(signal);
  process.on("SIGTERM", pass);
  const [code, signal] = await once(child, "close");
  process.off("SIGINT", ignore);
  process.off("SIGTERM", pass);
  return code ?? (signal === "SIGINT" ? 130 : 1);
}

async function npm(args) {
  // npm tells where it lives to the scripts it runs; without it (a direct call) the one on PATH is taken.
  const cli = process.env.npm_execpath;
  const code = cli?.endsWith(".js") ? await run(process.execPath, [cli, ...args]) : await run("npm", args);
  if (code !== 0) process.exit(code);
}

/** Compares what npm noted when it last installed with the lockfile; dates would lie after a checkout. */
async function isInstalled() {
  try {
    const [wanted, present] = await Promise.all(["package-lock.json", "node_modules/.package-lock.json"].map(packages));
    const complete = Object.entries(wanted).every(([path, entry]) =>
      path in present ? present[path].integrity === entry.integrity : path === "" || mayBeAbsent(entry),
    );
    return complete && Object.keys(present).every((path) => path in wanted);
  } catch {
    return false;
  }
}

async function packages(file) {
  return JSON.parse(await readFile(`${ROOT}/${file}`, "utf8")).packages;
}

/** Binaries for other machines are left out, and so is what only they need. */
function mayBeAbsent({ optional, os, cpu, libc }) {
  const fits = (wanted, here) => wanted === undefined || wanted.includes(here);
  const forThisMachine = fits(os, process.platform) && fits(cpu, process.arch) && fits(libc, libraryC());
  return optional === true && !((os !== undefined || cpu !== undefined) && forThisMachine);
}

function libraryC() {
  if (process.platform !== "linux") return undefined;
  return process.report.getReport().header.glibcVersionRuntime === undefined ? "musl" : "glibc";
}
