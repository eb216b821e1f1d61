/**
 * The same join, changes and checks by another project, Duckstring Trickle, in a virtual environment that is made for it
 * once. It is handed its changes ready-made, while this project finds them out from the lake's snapshots; and it writes to
 * a DuckDB file, not to a lake.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { say } from "../harness/report.mjs";

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("peer.py", import.meta.url));
const PACKAGES = ["duckdb==1.5.5", "duckstring-trickle==0.3.0", "pytz==2025.2"];

/** Times in milliseconds by kind of change and percent; null where the project can't be had here. */
export async function measureRival(rows, repetitions) {
  const python = await install();
  if (python === null) return null;
  const lines = [];
  for (const kind of ["insert", "mixed"]) {
    say(`rival: ${rows} rows, ${kind}`);
    const dims = kind === "mixed" ? ["--dims"] : [];
    const args = [SCRIPT, "--rows", String(rows), "--kind", kind, "--reps", String(repetitions), ...dims];
    const { stdout } = await run(python, args, { maxBuffer: 64 * 1024 * 1024 });
    for (const line of stdout.trim().split("\n")) lines.push({ kind, ...JSON.parse(line) });
  }
  if (lines.some((line) => line.ok === false)) throw new Error("the rival's view differs from its query");
  return {
    find([kind, percent]) {
      const line =
        kind === "dims"
          ? lines.find((candidate) => candidate.event === "refresh_dim" && candidate.table === "products")
          : lines.find(
              (candidate) =>
                candidate.event === "refresh" && candidate.kind === kind && candidate.change_pct === percent,
            );
      return line === undefined ? undefined : (line.all ?? [line.s]).map((seconds) => seconds * 1000);
    },
  };
}

async function install() {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "ducklake-ivm", "rival");
  const python = join(folder, "bin", "python");
  try {
    if (!existsSync(python)) {
      say("rival: installing");
      await mkdir(folder, { recursive: true });
      await run("python3", ["-m", "venv", folder]);
    }
    // It asks for a newer Python than many machines have, and does well without.
    await run(python, ["-m", "pip", "install", "--quiet", "--ignore-requires-python", "--no-deps", ...PACKAGES]);
    return python;
  } catch (error) {
    say(`rival: can't be had here (${error.message.split("\n")[0]})`);
    return null;
  }
}
