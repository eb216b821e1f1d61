#!/usr/bin/env node
/** The binary. */
import { CommanderError } from "commander";
import type { OutputFormat } from "./context.js";
import { EXIT } from "./exit.js";
import { Frame } from "./frame.js";
import { createProgram } from "./program.js";

const frame = new Frame(process);
const words = process.argv.slice(2);

try {
  await createProgram(frame).parseAsync(words, { from: "user" });
} catch (error) {
  if (error instanceof CommanderError && error.exitCode === 0) {
    // Help or the version was asked for, and printed.
    process.exitCode = EXIT.ok;
  } else {
    frame.fail(error, { output: wantedOutput(words), debug: words.includes("--debug") });
  }
}

/** The output asked for in words that the parser refused. */
function wantedOutput(words: readonly string[]): OutputFormat {
  const isJson = words.some(
    (word, index) => word === "--output=json" || (word === "json" && words[index - 1] === "--output"),
  );
  return isJson ? "json" : "text";
}
