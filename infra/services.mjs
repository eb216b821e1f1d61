/**
 * PostgreSQL and MinIO for tests and experiments, on free ports, with random passwords and throw-away data.
 *
 * By hand: `node infra/services.mjs up [s3] [postgres]`, `down`, `status`. From a program: `startServices()`, whose
 * servers end with the program at the latest.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cacheFolder, execute } from "./process.mjs";

const KEEPER = fileURLToPath(new URL("keeper.mjs", import.meta.url));
const STATE_FILE = join(cacheFolder(), "services.json");
const ALL = ["s3", "postgres"];

/** Starts services that live as long as this process, or until `stop`. */
export async function startServices(names = ALL) {
  const keeper = spawnKeeper([...names, "--tethered"], "pipe");
  const { endpoints } = await firstAnswer(keeper);
  // The tie to the keeper must not keep a program running that is otherwise done.
  for (const handle of [keeper, keeper.stdin, keeper.stdout, keeper.stderr]) handle.unref();
  const stop = async () => {
    if (keeper.exitCode !== null || keeper.signalCode !== null) return;
    const ended = once(keeper, "exit");
    keeper.ref();
    keeper.stdin.end();
    await ended;
  };
  return { endpoints, stop };
}

function spawnKeeper(args, stdin) {
  // A session of its own: Ctrl-C is the starter's business, which ends the services in order.
  const keeper = spawn(process.execPath, [KEEPER, ...args], { stdio: [stdin, "pipe", "pipe"], detached: true });
  keeper.stderr.pipe(process.stderr, { end: false });
  return keeper;
}

async function firstAnswer(keeper) {
  const lines = createInterface({ input: keeper.stdout });
  const line = await Promise.race([
    once(lines, "line").then(([text]) => text),
    once(keeper, "close").then(() => undefined),
  ]);
  if (line === undefined) throw new Error("the services' keeper ended without an answer");
  const answer = JSON.parse(line);
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}

async function up(names) {
  const known = await readState();
  if (known?.endpoints !== undefined) return known.endpoints;
  if (known !== undefined) throw new Error("the services are being started by another call");
  const keeper = spawnKeeper(names.length > 0 ? names : ALL, "ignore");
  await mkdir(cacheFolder(), { recursive: true });
  await writeState({ pid: keeper.pid });
  let answer;
  try {
    answer = await firstAnswer(keeper);
  } catch (error) {
    await rm(STATE_FILE, { force: true });
    throw error;
  }
  await writeState({ pid: keeper.pid, ...answer });
  keeper.stderr.unpipe();
  for (const stream of [keeper.stdout, keeper.stderr]) stream.destroy();
  keeper.unref();
  return answer.endpoints;
}

async function down() {
  const state = await readState();
  if (state === undefined) return false;
  process.kill(state.pid, "SIGTERM");
  while (await isKeeper(state.pid)) await delay(50);
  await rm(STATE_FILE, { force: true });
  return true;
}

/** What `up` left behind, or undefined where its keeper is gone; then its remains are removed too. */
async function readState() {
  let state;
  try {
    state = JSON.parse(await readFile(STATE_FILE, "utf8"));
  } catch {
    return undefined;
  }
  if (await isKeeper(state.pid)) return state;
  await rm(STATE_FILE, { force: true });
  if (basename(state.folder ?? "").startsWith("ducklake-ivm-services-")) {
    await rm(state.folder, { recursive: true, force: true });
  }
  return undefined;
}

async function writeState(state) {
  await writeFile(STATE_FILE, JSON.stringify(state), { mode: 0o600 });
  await chmod(STATE_FILE, 0o600);
}

/** A process id may have gone to another program meanwhile: only a running keeper counts. */
async function isKeeper(pid) {
  try {
    const command =
      process.platform === "linux"
        ? await readFile(`/proc/${pid}/cmdline`, "utf8")
        : (await execute("ps", ["-o", "args=", "-p", String(pid)])).stdout;
    return command.includes(KEEPER);
  } catch {
    return false;
  }
}

async function main([command, ...names]) {
  const unknown = names.find((name) => !ALL.includes(name));
  if (unknown !== undefined) throw new Error(`unknown service ${unknown}; there are: ${ALL.join(", ")}`);
  if (command === "up") return up(names);
  if (command === "down") return { stopped: await down() };
  if (command === "status") return (await readState())?.endpoints ?? { running: false };
  throw new Error("usage: node infra/services.mjs up [s3] [postgres] | down | status");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.stdout.write(`${JSON.stringify(await main(process.argv.slice(2)), null, 2)}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
