/** The container file. There is no engine here to build it with: it is linted, and its parts are looked at. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, test, vi } from "vitest";
import { pythonEnvironment } from "../setup/python.js";

vi.setConfig({ testTimeout: 300_000 });

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DOCKERFILE = join(ROOT, "infra", "Dockerfile");

test("hadolint finds nothing in the container file", async () => {
  const bin = await pythonEnvironment("linters", new URL("requirements.txt", import.meta.url));
  const { exitCode, all } = await execa(join(bin, "hadolint"), ["--failure-threshold", "info", DOCKERFILE], {
    all: true,
    reject: false,
  });
  expect(exitCode, all).toBe(0);
});

test("what the container file copies is let through and is in the repository", async () => {
  const lines = (await readFile(DOCKERFILE, "utf8")).split("\n");
  const copied = lines
    .filter((line) => line.startsWith("COPY ") && !line.startsWith("COPY --from"))
    .flatMap((line) => line.split(" ").slice(1, -1));
  const { stdout } = await execa("git", ["ls-files", "--", ...copied], { cwd: ROOT });
  const ignoring = await readFile(`${DOCKERFILE}.dockerignore`, "utf8");
  for (const path of copied) {
    expect(stdout.split("\n").some((file) => file === path || file.startsWith(`${path}/`))).toBe(true);
    expect(ignoring.split("\n")).toContain(`!${path}`);
  }
  expect(copied.length).toBeGreaterThan(4);
});

test("the image runs as a user without rights, on pinned versions", async () => {
  const lines = (await readFile(DOCKERFILE, "utf8")).split("\n");
  expect(lines.filter((line) => line.startsWith("USER ")).at(-1)).toBe("USER 1000");
  const bases = lines.filter((line) => line.startsWith("FROM "));
  for (const base of bases) expect(base).toMatch(/^FROM node:\d+\.\d+\.\d+-bookworm-slim( AS build)?$/);
});
