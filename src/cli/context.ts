/** What the command line's parts share: the frame gives every command its session and prints its outcome. */

import type { Writable } from "node:stream";
import type { Command } from "commander";
import type { Logger } from "../logger.js";
import type { LakeConfig } from "../types.js";
import type { LogFormat } from "./log.js";
import type { Progress } from "./progress.js";
import type { Style } from "./style.js";

export type OutputFormat = "text" | "json";

/** The forms that rows of data can have; commands that give no rows have the first two only. */
export const ROW_FORMATS = ["text", "json", "jsonl", "csv", "parquet", "arrow"] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

/** The options that every command has. */
export interface GlobalOptions {
  readonly projectDir: string;
  readonly output: RowFormat;
  readonly debug?: boolean;
  readonly logFormat: LogFormat;
  /** In milliseconds. */
  readonly retryFor?: number;
}

/** One run of one command. */
export interface Session {
  readonly output: OutputFormat;
  /** How rows of data are wanted. */
  readonly rowFormat: RowFormat;
  /** For rows of data; everything else is said or told at the end. */
  readonly out: NodeJS.WritableStream & Writable;
  /** The folder that holds `ducklake-ivm.yaml`, as it was given. */
  readonly projectDirectory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the command line says of the lake; it goes before the configuration. */
  readonly lakeOptions: Pick<LakeConfig, "retryForMs">;
  /** For lines that are meant for a person; does nothing where the output is no terminal. */
  readonly style: Style;
  /** For what the library has to say while it works: on stderr, details only with `--debug`. */
  readonly logger: Logger;
  /** The words of the command line. */
  readonly words: readonly string[];
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
  /** One line for a person, at once: on stdout, or on stderr where stdout is for JSON. */
  say(line: string): void;
  /**
   * The signal that SIGINT and SIGTERM abort. A command that asks for it stops by itself, in order, and is ended where
   * that takes too long; all others are ended on the spot, which is safe because whatever they write is one transaction.
   */
  stopSignal(): AbortSignal;
  /** For work that may take long. What it shows goes when the command tells its outcome. */
  progress(): Promise<Progress>;
  /** Does this once the command has told its outcome or its error. What fails in it is a warning. */
  atEnd(work: (end: CommandEnd) => Promise<void>): void;
}

/** What a command told at its end. */
export interface CommandEnd {
  /** The command's object, or `{ error }`. */
  readonly json: object;
  readonly exitCode: number;
}

/** What a command has to tell at its end. */
export interface Outcome {
  /** The object that `--output json` prints as the last line; names in camelCase and bigints are converted. */
  readonly json: object;
  /** The same for a person; left out where everything was said already. */
  readonly lines?: readonly string[];
  /** 0 where left out. */
  readonly exitCode?: number;
  /** Set where a signal is the command's usual end, and no interruption. */
  readonly runsUntilStopped?: boolean;
}

export interface CliContext {
  /** Runs a command's work under the rules that hold for all: output, errors, exit codes, signals. */
  run(command: Command, work: (session: Session) => Promise<Outcome>): Promise<void>;
}
