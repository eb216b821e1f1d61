/** Python packages for tests, from pip and kept in the cache: the machine's own Python stays as it is. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { cachedFolder } from "./cached.js";

const PYARROW = "26.0.1";
const PROMETHEUS = "0.26.0";
/** Installs a hundred packages in seconds, where pip takes minutes. */
const UV = "0.13.9";

/** A folder with pyarrow for `PYTHONPATH`. */
export function pyarrow(): Promise<string> {
  return packageFolder("pyarrow", PYARROW);
}

/** A folder with Prometheus' own client for `PYTHONPATH`. */
export function prometheusClient(): Promise<string> {
  return packageFolder("prometheus_client", PROMETHEUS);
}

/** The `bin` folder of an environment with the packages of a requirements file, each of which names its version. */
export async function pythonEnvironment(name: string, requirements: URL): Promise<string> {
  const digest = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex")
    .slice(0, 12);
  const folder = await cachedFolder(`${name}-${digest}`, async (work) => {
    const uv = join(await packageFolder("uv", UV), "bin", "uv");
    // Made in one place and kept in another, so its programs must find their Python beside them.
    await execa(uv, ["venv", "--quiet", "--relocatable", "--allow-existing", "--python", "python3", work]);
    const python = join(work, "bin", "python");
    await execa(uv, ["pip", "install", "--quiet", "--python", python, "--requirement", requirements.pathname]);
  });
  return join(folder, "bin");
}

function packageFolder(name: string, version: string): Promise<string> {
  return cachedFolder(`${name}-${version}`, async (work) => {
    const options = ["--no-input", "--disable-pip-version-check", "--quiet", "--only-binary=:all:"];
    await execa("python3", ["-m", "pip", "install", ...options, "--target", work, `${name}==${version}`]);
  });
}
