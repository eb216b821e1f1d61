/** Small things that both services need: programs, ports, waiting and stopping. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

/** This project's own cache, outside the repository. */
export function cacheFolder() {
  const configured = process.env.XDG_CACHE_HOME;
  return join(configured && isAbsolute(configured) ? configured : join(homedir(), ".cache"), "ducklake-ivm");
}

/** Progress goes to stderr: stdout belongs to the endpoints. */
export function say(text) {
  process.stderr.write(`services: ${text}\n`);
}

export const execute = promisify(execFile);

export async function isExecutable(path) {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The first of the folders, by default those of PATH, that holds the program. */
export async function findProgram(name, folders = (process.env.PATH ?? "").split(delimiter)) {
  for (const folder of folders) {
    if (folder !== "" && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return undefined;
}

/** A port that nobody listens on at the moment of asking. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a server that writes into the open log file. */
export async function startServer(program, args, { log, ...options }) {
  const child = spawn(program, args, { ...options, stdio: ["ignore", log.fd, log.fd] });
  await once(child, "spawn");
  return child;
}

/** Waits until `ready` answers true; an early end of the server, or no answer in time, is an error with its last words. */
export async function waitUntilReady(name, child, logFile, ready, timeoutMs = 60_000) {
  const deadline = Date.now() + timeoutMs;
  while (!(await ready())) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      const said = (await readFile(logFile, "utf8")).trim().split("\n").slice(-10).join("\n");
      throw new Error(`${name} did not start:\n${said}`);
    }
    await delay(50);
  }
}

/** A server that is up: it can be stopped, and begun anew on the same data and port after its end. */
export function runningServer(endpoint, child, launch, stopSignal) {
  const server = {
    endpoint,
    child,
    stop: () => stopServer(server.child, stopSignal),
    restart: async () => {
      await server.stop();
      server.child = await launch();
    },
  };
  return server;
}

/** Asks a server to end, and ends it where it does not listen. */
export async function stopServer(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(timer);
}
