/** What comes with the package: pinned, from the registry, and without code that runs when it is installed. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly link?: boolean;
}

const lock = JSON.parse(await readFile(new URL("../../package-lock.json", import.meta.url), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const packages = Object.entries(lock.packages).filter(([path]) => path !== "");

test("every package is pinned by its hash and comes from the registry", () => {
  expect(packages.length).toBeGreaterThan(50);
  const wrong = packages.filter(
    ([, { resolved, integrity = "" }]) =>
      (resolved !== undefined && !resolved.startsWith("https://registry.npmjs.org/")) || !/^sha512-/.test(integrity),
  );
  expect(wrong.map(([path]) => path)).toEqual([]);
});

test("no package that users get runs anything when it is installed", () => {
  const scripts = packages.filter(([, { dev, hasInstallScript }]) => dev !== true && hasInstallScript === true);
  expect(scripts.map(([path]) => path)).toEqual([]);
});
