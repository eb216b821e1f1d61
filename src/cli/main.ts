#!/usr/bin/env node
/** The binary. */
import { CommanderError } from "commander";
import { COMPLETE } from "./completion.js";
import { EXIT } from "./exit.js";
import { Frame } from "./frame.js";
import { createProgram } from "./program.js";

const frame = new Frame(process);
const words = process.argv.slice(2);

try {
  if (words[0] === COMPLETE) await printCandidates(words.slice(1));
  else await createProgram(frame).parseAsync(words, { from: "user" });
} catch (error) {
  if (error instanceof CommanderError && error.exitCode === 0) {
    // Help or the version was asked for, and printed.
    process.exitCode = EXIT.ok;
  } else {
    frame.fail(error, {
      output: isAsked("--output") ? "json" : "text",
      logFormat: isAsked("--log-format") ? "json" : "text",
      debug: words.includes("--debug"),
    });
  }
}

/** For the scripts of `completion`, which ask at every press of the key. */
async function printCandidates(line: readonly string[]): Promise<void> {
  const { completeWords } = await import("./complete.js");
  for (const candidate of await completeWords(createProgram(frame), line)) process.stdout.write(`${candidate}\n`);
}

/** Whether words that the parser refused ask for JSON by this option. */
function isAsked(option: string): boolean {
  return words.some((word, index) => word === `${option}=json` || (word === "json" && words[index - 1] === option));
}
