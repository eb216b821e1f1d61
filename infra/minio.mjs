/** MinIO, the S3-compatible store that the tests run against. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  cacheFolder,
  execute,
  findProgram,
  freePort,
  isExecutable,
  runningServer,
  say,
  startServer,
  stopServer,
  waitUntilReady,
} from "./process.mjs";

const MODULE = "github.com/minio/minio";
const VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c";
const REGION = "us-east-1";
const BUCKET = "lakes";

/** Starts a server with one empty bucket; answers its endpoint and how to stop it. */
export async function startMinio(folder, signal) {
  const program = (await minioOnPath()) ?? (await cachedMinio(signal));
  const data = join(folder, "minio");
  await mkdir(join(data, BUCKET), { recursive: true });
  const accessKeyId = randomBytes(10).toString("hex");
  const secretAccessKey = randomBytes(20).toString("hex");
  const port = await freePort();
  const logFile = join(folder, "minio.log");
  const launch = async () => {
    const log = await open(logFile, "a");
    const child = await startServer(
      program,
      ["server", data, "--address", `127.0.0.1:${port}`, "--certs-dir", join(folder, "minio-certs"), "--quiet"],
      {
        log,
        env: {
          ...process.env,
          MINIO_ROOT_USER: accessKeyId,
          MINIO_ROOT_PASSWORD: secretAccessKey,
          MINIO_REGION: REGION,
          MINIO_BROWSER: "off",
          MINIO_UPDATE: "off",
        },
      },
    );
    try {
      // The health endpoints say yes while S3 requests still get 503. A stranger is turned away only by a working store.
      await waitUntilReady("MinIO", child, logFile, () =>
        fetch(`http://127.0.0.1:${port}/${BUCKET}`).then(
          (response) => response.status === 403,
          () => false,
        ),
      );
    } catch (error) {
      await stopServer(child, "SIGTERM");
      throw error;
    } finally {
      await log.close();
    }
    return child;
  };
  const endpoint = {
    endpoint: `127.0.0.1:${port}`,
    region: REGION,
    urlStyle: "path",
    useSsl: false,
    accessKeyId,
    secretAccessKey,
    bucket: BUCKET,
  };
  return runningServer(endpoint, await launch(), launch, "SIGTERM");
}

async function minioOnPath() {
  const program = await findProgram("minio");
  if (program === undefined) return undefined;
  const { stdout } = await execute(program, ["--version"]);
  return stdout.startsWith("minio version") ? program : undefined;
}

/** The binary in the cache; the first caller builds it, others that come meanwhile wait for the first. */
async function cachedMinio(signal) {
  const folder = join(cacheFolder(), "minio", VERSION);
  const program = join(folder, "minio");
  const lock = join(folder, "building");
  await mkdir(folder, { recursive: true });
  while (!(await isExecutable(program))) {
    signal.throwIfAborted();
    if (await takeLock(lock)) {
      try {
        await buildMinio(folder, program, signal);
      } finally {
        await rm(lock, { force: true });
      }
    } else {
      await delay(500);
    }
  }
  return program;
}

/** A lock left by a process that is gone is taken over. Two builds at once would waste time and harm nothing. */
async function takeLock(lock) {
  try {
    await writeFile(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  const owner = Number(await readFile(lock, "utf8").catch(() => ""));
  if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
  return false;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

async function buildMinio(folder, program, signal) {
  const go = await findProgram("go");
  if (go === undefined) {
    throw new Error(
      "MinIO is not on PATH, and there is no Go to build it with. Install one of the two, or use infra/compose.yaml.",
    );
  }
  say(`building MinIO ${VERSION} with Go; once, some minutes …`);
  const work = await mkdtemp(join(folder, ".build-"));
  try {
    const build = spawn(go, ["install", "-trimpath", "-ldflags", "-s -w", `${MODULE}@${VERSION}`], {
      // Set here so that a developer's own Go settings (vendoring, cross-compiling, private flags) don't leak in.
      env: { ...process.env, CGO_ENABLED: "0", GOBIN: work, GOFLAGS: "", GOOS: "", GOARCH: "", GO111MODULE: "on" },
      cwd: work,
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    // A group of its own, because `go` leaves its compilers running when only it is ended.
    const abort = () => process.kill(-build.pid, "SIGKILL");
    signal.addEventListener("abort", abort, { once: true });
    let said = "";
    build.stderr.on("data", (chunk) => {
      said = (said + chunk).slice(-4_000);
    });
    const [code] = await once(build, "close");
    signal.removeEventListener("abort", abort);
    signal.throwIfAborted();
    if (code !== 0) throw new Error(`go install ${MODULE}@${VERSION} failed:\n${said.trim()}`);
    await rename(join(work, "minio"), program);
    say("MinIO is built");
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
