/**
 * The process that owns the services: started by services.mjs, never by hand. It prints one line of JSON when they
 * are up, then waits. It stops them and removes their data when it is told to (SIGTERM), when one of them ends by
 * itself, and, with `--tethered`, when its standard input closes, which happens however its starter dies.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMinio } from "./minio.mjs";
import { startPostgres } from "./postgres.mjs";

const STARTERS = { s3: startMinio, postgres: startPostgres };

const [, , ...args] = process.argv;
const wanted = Object.keys(STARTERS).filter((name) => args.includes(name));
const abort = new AbortController();
const running = [];
let stopping;

const folder = await mkdtemp(join(tmpdir(), "ducklake-ivm-services-"));

function stop(exitCode) {
  stopping ??= (async () => {
    abort.abort();
    await starting; // what is half up is stopped by its own starter, or is in `running` by then
    await Promise.all(running.map((service) => service.stop()));
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    process.exit(exitCode);
  })();
}

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => stop(0));
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined); // nobody listens any more
if (args.includes("--tethered")) {
  process.stdin.on("end", () => stop(0));
  process.stdin.resume();
}

async function start(name) {
  const service = await STARTERS[name](folder, abort.signal);
  running.push(service);
  service.child.on("exit", () => stop(1));
  return [name, service.endpoint];
}

const starting = Promise.allSettled(wanted.map(start));
const results = await starting;
const failure = results.find((result) => result.status === "rejected");
if (stopping === undefined) {
  if (failure === undefined) {
    const endpoints = Object.fromEntries(results.map((result) => result.value));
    process.stdout.write(`${JSON.stringify({ endpoints, folder })}\n`);
  } else {
    process.stdout.write(`${JSON.stringify({ error: failure.reason.message })}\n`);
    stop(1);
  }
}
