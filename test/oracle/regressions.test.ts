import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type History, printHistory } from "./history.js";
import { examine } from "./plain.js";
import { Mismatch, runHistory } from "./run.js";

const folder = new URL("./regressions/", import.meta.url);
const files = (await readdir(folder)).filter((file) => file.endsWith(".json")).sort();

/** Histories that once failed. */
test.each(files)("%s", async (file) => {
  const history: History = JSON.parse(await readFile(new URL(file, folder), "utf8"));
  expect(await examine(history, true)).toBeNull();
  try {
    await runHistory(history);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw new Error(`${printHistory(history)}\n${error.message}`, { cause: error });
  }
});
