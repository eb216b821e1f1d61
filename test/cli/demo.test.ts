import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { folder } from "../project/files.js";
import { BINARY, command, type JsonError, json, processOptions } from "./command.js";

const VIEWS = ["airline_delays", "ripple_delays", "bad_weather_fleet", "route_delays", "region_delays"];
const TIMEOUT = 300_000;

interface Step {
  readonly name: string;
  readonly status: string;
  readonly changes: readonly { readonly kind: string }[];
  readonly recompute_ms: number | null;
  readonly views: readonly {
    readonly view: string;
    readonly strategy: string | null;
    readonly terms: { readonly total: number; readonly run: number; readonly skipped: number };
    readonly recompute_ms: number | null;
  }[];
}

interface DemoJson {
  readonly ok: boolean;
  readonly kept: string | null;
  readonly steps: readonly [Step, Step, Step, Step];
  readonly verified: readonly { readonly view: string; readonly ok: boolean; readonly rows: number }[];
  readonly totals: { readonly months: number; readonly refresh_ms: number; readonly recompute_ms: number };
}

describe("demo", () => {
  it(
    "refreshes two months incrementally, verifies, and leaves a project",
    async () => {
      const lake = join(await folder({}), "lake");
      const demo = await json<DemoJson>(["demo", "--months", "2", "--dir", lake, "--keep"]);
      expect(demo, demo.stderr).toMatchObject({ exitCode: 0, value: { ok: true, kept: lake, totals: { months: 1 } } });
      expect(demo.stdout.split("\n")).toHaveLength(1);
      expect(demo.stderr).toContain("All 5 views are exact.");
      expect(demo.value.verified.map(({ view, ok }) => [view, ok])).toEqual(VIEWS.map((view) => [view, true]));
      for (const { rows } of demo.value.verified) expect(rows).toBeGreaterThan(0);

      const [january, february, small, none] = demo.value.steps;
      expect([january, february, small, none].map(({ name }) => name)).toEqual([
        "January 2013",
        "February 2013",
        "A small change",
        "No change",
      ]);
      expect(january.views.map(({ view, strategy }) => [view, strategy])).toEqual(
        VIEWS.map((view) => [view, "initial"]),
      );
      for (const step of [february, small]) {
        expect(step.status).toBe("refreshed");
        for (const view of step.views) {
          expect(view.strategy, view.view).toBe("incremental");
          expect(view.recompute_ms).toBeGreaterThan(0);
        }
      }
      expect(none).toMatchObject({ status: "unchanged", changes: [], recompute_ms: null });
      // In February everything that this view reads changed but the airports, later only the flights.
      const terms = (step: Step) => step.views.find(({ view }) => view === "bad_weather_fleet")?.terms;
      expect(terms(february)).toEqual({ total: 5, run: 4, skipped: 1 });
      expect(terms(small)).toEqual({ total: 5, run: 1, skipped: 4 });
      expect(terms(none)).toEqual({ total: 5, run: 0, skipped: 5 });

      const verify = await json(["verify", "--project-dir", lake]);
      expect(verify.exitCode, verify.stderr).toBe(0);
      const plan = await json<{ apply: { actions: { action: string }[] } }>(["plan", "--project-dir", lake]);
      expect(plan.value.apply.actions.map(({ action }) => action)).toEqual(VIEWS.map(() => "keep"));
    },
    TIMEOUT,
  );

  it(
    "tells its story in plain text where stdout is no terminal, and leaves nothing behind",
    async () => {
      const place = await folder({});
      const { stdout, stderr, exitCode } = await command(["demo", "--months", "1"], { env: { TMPDIR: place } });
      expect(exitCode, stderr).toBe(0);
      expect(stdout).toContain("\n  new        26,998 flights, 2,220 weather readings, 2,609 planes\n");
      expect(stdout).toContain("\nAll 5 views are exact.\n");
      expect(stdout).not.toContain("\u001b");
      expect(stdout).not.toMatch(/NaN|undefined|Infinity/);
      expect(await readdir(place)).toEqual([]);
    },
    TIMEOUT,
  );

  it(
    "removes its lake when it is interrupted",
    async () => {
      const place = await folder({});
      const running = execa(BINARY, ["demo"], processOptions({ env: { TMPDIR: place } }));
      for await (const line of running.iterable()) {
        // The first month's heading: the lake is there, and so is a view.
        if (line === "January 2013") running.kill("SIGINT");
      }
      const { exitCode, stdout, stderr } = await running;
      expect(exitCode, stderr).toBe(130);
      expect(stdout).not.toContain("Verify");
      expect(await readdir(place)).toEqual([]);
    },
    TIMEOUT,
  );

  it("refuses a folder that is not empty, and leaves it alone", async () => {
    const place = await folder({ "mine.txt": "mine" });
    const { exitCode, value } = await json<JsonError>(["demo", "--dir", place]);
    expect(exitCode).toBe(2);
    expect(value.error).toMatchObject({ code: "demo_folder_not_empty", subject: { file: place } });
    expect(await readdir(place)).toEqual(["mine.txt"]);
  });

  it.each(["0", "13", "two", "1.5"])("refuses --months %s", async (months) => {
    const { exitCode, stderr } = await command(["demo", "--months", months]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("from 1 to 12");
  });

  it("says what it needs where there is no package index, and tells no password", async () => {
    const cache = await folder({});
    const place = join(cache, "lakes");
    await mkdir(place);
    const { exitCode, value, stdout, stderr } = await json<JsonError>(["demo"], {
      env: {
        TMPDIR: place,
        XDG_CACHE_HOME: cache,
        PIP_CONFIG_FILE: "/dev/null",
        PIP_INDEX_URL: "http://someone:geheim@127.0.0.1:9/simple",
        PIP_EXTRA_INDEX_URL: "",
        PIP_RETRIES: "0",
      },
    });
    expect(exitCode).toBe(1);
    expect(value.error).toMatchObject({ code: "demo_data_unavailable" });
    expect(value.error.hint).toContain("PyPI");
    expect(stdout + stderr).not.toContain("geheim");
    expect(await readdir(place)).toEqual([]);
  });
});
