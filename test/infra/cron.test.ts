/** The cron script and the systemd units of infra/cron/, run for real. */
import { once } from "node:events";
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, test, vi } from "vitest";
import { findProgram } from "../../infra/process.mjs";
import { BINARY } from "../cli/command.js";
import { project } from "../cli/lake.js";
import { folder } from "../project/files.js";
import { pythonEnvironment } from "../setup/python.js";

vi.setConfig({ testTimeout: 300_000 });

const CRON = fileURLToPath(new URL("../../infra/cron/", import.meta.url));
const SCRIPT = join(CRON, "refresh.sh");

/** A folder with a command that runs these lines, and an alert that writes down what it is given. */
async function place(lines: string) {
  const directory = await folder({ "command.sh": `#!/bin/sh\n${lines}\n`, "alert.sh": ALERT });
  for (const script of ["command.sh", "alert.sh"]) await chmod(join(directory, script), 0o755);
  const env = {
    IVM_COMMAND: join(directory, "command.sh"),
    IVM_ALERT: join(directory, "alert.sh"),
    IVM_LOG: join(directory, "log"),
    IVM_PAUSE: "0",
    PLACE: directory,
  };
  const run = async (...options: string[]) => {
    const { exitCode } = await execa(SCRIPT, [directory, ...options], { env, reject: false, stdin: "ignore" });
    return { exitCode, log: await readFile(env.IVM_LOG, "utf8"), alerts: await readOr(join(directory, "alerts")) };
  };
  return { directory, env, run };
}

const ALERT = '#!/bin/sh\n{ echo "code $1"; cat; } >>"$PLACE/alerts"\n';

const readOr = (file: string): Promise<string> => readFile(file, "utf8").catch(() => "");

test("a refresh that goes well is logged, and nobody is woken", async () => {
  const directory = await project({ "views/v.sql": "SELECT 1 AS one" }, []);
  await execa(BINARY, ["apply", "--project-dir", directory]);
  const env = { IVM_COMMAND: `${process.execPath} ${BINARY}`, IVM_LOG: join(directory, "log"), IVM_ALERT: "false" };
  await execa(SCRIPT, [directory], { env });
  const log = await readFile(env.IVM_LOG, "utf8");
  expect(log).toMatch(/1 view refreshed/);
  expect(log).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ refresh\[\d+\] ended with exit code 0\n$/m);
  expect(log).not.toContain("alert");
});

test.each([1, 2, 3])("exit code %d is passed on and alerts, with the run's last lines, once", async (code) => {
  const { run } = await place(`echo "error: table t is gone" >&2; echo "$@"; exit ${code}`);
  const { exitCode, alerts, log } = await run("--fail-fast");
  expect(exitCode).toBe(code);
  expect(alerts).toMatch(
    new RegExp(`^code ${code}\\nerror: table t is gone\\nrefresh --project-dir .* --fail-fast\\n$`),
  );
  expect(log).toContain("error: table t is gone");
});

test("another writer's turn is waited for; only when it never ends somebody is alerted", async () => {
  const passing = await place('echo x >>"$PLACE/tries"; [ "$(wc -l <"$PLACE/tries")" -ge 3 ] || exit 75');
  expect(await passing.run()).toMatchObject({ exitCode: 0, alerts: "" });
  expect(await readOr(join(passing.directory, "tries"))).toBe("x\nx\nx\n");

  const lasting = await place('echo x >>"$PLACE/tries"; exit 75');
  const { exitCode, alerts } = await lasting.run();
  expect({ exitCode, alerts }).toEqual({ exitCode: 75, alerts: "code 75\n" });
  expect(await readOr(join(lasting.directory, "tries"))).toBe("x\n".repeat(5));
});

test("a second start does nothing while the first one runs, and the lock goes with its holder", async () => {
  const scene = await place('echo x >>"$PLACE/starts"; exec sleep 30');
  const first = execa(SCRIPT, [scene.directory], { env: scene.env, reject: false, stdin: "ignore" });
  await vi.waitUntil(async () => (await readOr(join(scene.directory, "starts"))) !== "", 10_000);
  const second = await scene.run();
  expect(second).toMatchObject({ exitCode: 0, alerts: "" });
  expect(second.log).toContain("the run before this one is still at work");
  expect(await readOr(join(scene.directory, "starts"))).toBe("x\n");

  // Killed at once, with no chance to clean up: what it had started holds no lock either.
  first.kill("SIGKILL");
  await first;
  await writeFile(join(scene.directory, "command.sh"), "#!/bin/sh\nexit 0\n");
  const third = await scene.run();
  expect(third.exitCode).toBe(0);
  expect(third.log).toContain("ended with exit code 0");
});

test("SIGTERM reaches the run, which stops in order, and is no alert", async () => {
  const scene = await place("trap 'echo stopping; exit 130' TERM; : >\"$PLACE/ready\"; while :; do sleep 0.1; done");
  const running = execa(SCRIPT, [scene.directory], { env: scene.env, reject: false, stdin: "ignore" });
  await vi.waitUntil(async () => (await readdir(scene.directory)).includes("ready"), 10_000);
  running.kill("SIGTERM");
  expect((await running).exitCode).toBe(130);
  expect(await readOr(scene.env.IVM_LOG)).toContain("stopping\n");
  expect(await readOr(join(scene.directory, "alerts"))).toBe("");
});

test("the alert posts the exit code and the lines to a webhook", async () => {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      bodies.push(body);
      response.statusCode = bodies.length === 1 ? 200 : 500;
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const post = () =>
    execa(join(CRON, "alert.mjs"), ["1"], {
      env: { IVM_WEBHOOK: `http://127.0.0.1:${port}/hook` },
      input: "error: no\n",
      reject: false,
    });
  expect((await post()).exitCode).toBe(0);
  expect((JSON.parse(bodies[0] ?? "") as { text: string }).text).toMatch(/ended with exit code 1\nerror: no\n$/);
  const refused = await post();
  expect({ code: refused.exitCode, said: refused.stderr }).toEqual({ code: 1, said: "the webhook answered 500" });
  server.close();
});

test("shellcheck finds nothing in the scripts", async () => {
  const bin = await pythonEnvironment("linters", new URL("requirements.txt", import.meta.url));
  const { exitCode, all } = await execa(join(bin, "shellcheck"), [SCRIPT], { all: true, reject: false });
  expect(exitCode, all).toBe(0);
});

// Only where systemd runs the machine is its checker there.
const systemd = await findProgram("systemd-analyze");
test.skipIf(systemd === undefined)("systemd finds nothing wrong with the units", async () => {
  const units = (await readdir(join(CRON, "systemd"))).map((name) => join(CRON, "systemd", name));
  expect(units).toHaveLength(3);
  const { exitCode, all } = await execa("systemd-analyze", ["verify", "--man=no", ...units], {
    all: true,
    reject: false,
  });
  const ours = all.split("\n").filter((line) => line.includes("ducklake-ivm"));
  expect({ exitCode, ours }, all).toEqual({ exitCode: 0, ours: [] });
});
