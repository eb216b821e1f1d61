/** PostgreSQL, for lakes whose catalog is one. */
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, open, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  execute,
  findProgram,
  freePort,
  runningServer,
  say,
  startServer,
  stopServer,
  waitUntilReady,
} from "./process.mjs";

const DEBIAN_ROOT = "/usr/lib/postgresql";
const USER = "ivm";
const DATABASE = "postgres";

/**
 * Starts a fresh server on 127.0.0.1; answers its endpoint and how to stop it.
 * @param options.durable commits survive the server's own death, which takes longer. `restart` is for tests of that.
 */
export async function startPostgres(folder, _signal, { durable = false } = {}) {
  const programs = (await findPostgres()) ?? (await installPostgres());
  const home = join(folder, "postgres");
  await mkdir(home);
  const identity = await unprivilegedIdentity();
  const password = randomBytes(20).toString("hex");
  const passwordFile = join(home, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (identity.uid !== undefined) {
    await chmod(folder, 0o711); // the way to `home`, for another user
    for (const path of [home, passwordFile]) await chown(path, identity.uid, identity.gid);
  }
  const options = { ...identity, cwd: home, env: { ...process.env, LC_ALL: "C" } };
  const data = join(home, "data");
  await execute(
    join(programs, "initdb"),
    // Data that is thrown away need not reach the disk.
    [
      "-D",
      data,
      "-U",
      USER,
      "-A",
      "scram-sha-256",
      `--pwfile=${passwordFile}`,
      "-E",
      "UTF8",
      "--locale=C",
      "--no-sync",
    ],
    options,
  );

  const port = await freePort();
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    fsync: "off",
    synchronous_commit: durable ? "on" : "off",
    full_page_writes: "off",
  };
  const logFile = join(folder, "postgres.log");
  const launch = async () => {
    const log = await open(logFile, "a");
    const child = await startServer(
      join(programs, "postgres"),
      [
        "-D",
        data,
        "-p",
        String(port),
        ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
      ],
      { ...options, log },
    );
    try {
      await waitUntilReady("PostgreSQL", child, logFile, () =>
        execute(join(programs, "pg_isready"), ["-h", "127.0.0.1", "-p", String(port), "-U", USER, "-d", DATABASE]).then(
          () => true,
          () => false,
        ),
      );
    } catch (error) {
      await stopServer(child, "SIGINT");
      throw error;
    } finally {
      await log.close();
    }
    return child;
  };
  const endpoint = { host: "127.0.0.1", port, user: USER, password, database: DATABASE };
  return runningServer(endpoint, await launch(), launch, "SIGINT"); // "fast shutdown": sessions are ended, not waited for
}

/** The folder with the server's programs: Debian keeps them off PATH, one folder a version. */
async function findPostgres() {
  const versions = await readdir(DEBIAN_ROOT).catch(() => []);
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN_ROOT, version, "bin"));
  const onPath = await findProgram("postgres");
  if (onPath !== undefined) folders.unshift(dirname(onPath));
  for (const folder of folders) {
    const found = await Promise.all(["initdb", "postgres", "pg_isready"].map((name) => findProgram(name, [folder])));
    if (found.every((program) => program !== undefined)) return folder;
  }
  return undefined;
}

async function installPostgres() {
  const apt = await findProgram("apt-get");
  if (process.getuid?.() !== 0 || apt === undefined) {
    throw new Error(
      "PostgreSQL's server is not installed. Install it (Debian: postgresql), or use infra/compose.yaml.",
    );
  }
  say("installing PostgreSQL from Debian's packages …");
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, maxBuffer: 64 * 1024 * 1024 };
  await execute(apt, ["-q", "update"], options);
  await execute(apt, ["-q", "-y", "--no-install-recommends", "install", "postgresql"], options);
  const programs = await findPostgres();
  if (programs === undefined) throw new Error(`apt-get installed postgresql, but ${DEBIAN_ROOT} has no server`);
  return programs;
}

/** PostgreSQL refuses to run as root; the package's own user is there on Debian, `nobody` everywhere. */
async function unprivilegedIdentity() {
  if (process.getuid?.() !== 0) return {};
  for (const user of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = await Promise.all(["-u", "-g"].map((flag) => execute("id", [flag, user])));
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // no such user: try the next
    }
  }
  throw new Error("PostgreSQL can't run as root, and there is neither a user postgres nor nobody.");
}
