/** An error as the command line tells it: for a person, and as JSON. */
import { CommanderError } from "commander";
import { type ErrorSubject, IngestError, IvmError, type Sample } from "../errors.js";
import { formatPlace, type Problem, ProjectError } from "../project/problems.js";
import { closest } from "../suggest.js";
import type { LogEntry } from "./log.js";
import type { Style } from "./style.js";

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly retryable: boolean;
  /** What the error speaks of: view, table, file, line and so on. */
  readonly subject: ErrorSubject;
  /** Where several things are wrong at once: each of them. */
  readonly problems?: readonly Problem[];
  /** Where rows are wrong: some of them. */
  readonly samples?: readonly Sample[];
  /** Only with `--debug`. */
  readonly stack?: string;
}

export interface FailureOptions {
  readonly debug: boolean;
  readonly redact: (text: string) => string;
}

/** Everything that is to be told of an error, without secrets. */
export function toFailure(error: unknown, { debug, redact }: FailureOptions): Failure {
  const failure = describe(error);
  return {
    ...failure,
    message: redact(failure.message),
    hint: failure.hint === null ? null : redact(failure.hint),
    ...(debug ? { stack: redact(stackOf(error)) } : {}),
  };
}

/** The entry in a log of JSON lines. */
export function failureEntry({ code, message, hint, retryable, stack }: Failure): LogEntry {
  return { level: "error", message, fields: { code, hint, retryable, stack } };
}

/** The lines for a person. */
export function failureLines(failure: Failure, style: Style): string[] {
  const hint = (text: string | null | undefined, indent: string): string[] =>
    text === null || text === undefined ? [] : [`${indent}${style.yellow("hint:")} ${text}`];
  const lines: string[] = [];
  const [first, second] = failure.problems ?? [];
  if (first !== undefined && second !== undefined) {
    lines.push(`${style.red("error:")} ${failure.problems?.length} problems in the project's files`);
    for (const problem of failure.problems ?? []) {
      lines.push(`  ${style.bold(formatPlace(problem))}: ${problem.message}`, ...hint(problem.hint, "    "));
    }
  } else {
    const place = first ?? placeOf(failure.subject);
    lines.push(`${style.red("error:")} ${first?.message ?? failure.message}`);
    if (place !== undefined) {
      lines.push(`  at ${style.bold(formatPlace(place))}`);
    }
    lines.push(...hint(failure.hint, ""));
  }
  return failure.stack === undefined ? lines : [...lines, style.dim(failure.stack)];
}

function describe(error: unknown): Failure {
  if (error instanceof IvmError) {
    return {
      code: error.code,
      message: error.message,
      hint: error.hint ?? null,
      retryable: error.retryable,
      subject: error.subject,
      ...(error instanceof ProjectError ? { problems: error.problems } : {}),
      ...(error instanceof IngestError ? { samples: error.samples } : {}),
    };
  }
  const unspecific = { retryable: false, subject: {} };
  if (error instanceof CommanderError) {
    const [message = "", ...suggestion] = error.message.replace(/^error: /, "").split("\n");
    const hint =
      suggestion.join(" ").replace(/^\((.*)\)$/, "$1") || meantChoice(message) || 'Run "ducklake-ivm --help".';
    return {
      code: "usage",
      message: error.code === "commander.help" ? "No command was given." : message,
      hint,
      ...unspecific,
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = "This is a fault of ducklake-ivm: please report it, with what the same command prints with --debug.";
  return { code: "internal_error", message: `Unexpected: ${message}`, hint, ...unspecific };
}

/** The parser tells what may be chosen, but not what may be meant. */
function meantChoice(message: string): string | undefined {
  const [, given = "", choices = ""] =
    /(?:argument|value) '([^']*)' is invalid.*Allowed choices are (.*)\.$/.exec(message) ?? [];
  const meant = choices === "" ? undefined : closest(given, choices.split(", "));
  return meant === undefined ? undefined : `Did you mean ${meant}?`;
}

function placeOf(subject: ErrorSubject): Pick<Problem, "file" | "line" | "column"> | undefined {
  if (subject.file === undefined) {
    return undefined;
  }
  return {
    file: subject.file,
    ...(subject.line === undefined ? {} : { line: subject.line }),
    ...(subject.lineColumn === undefined ? {} : { column: subject.lineColumn }),
  };
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const own = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? own : `${own}\ncaused by ${stackOf(error.cause)}`;
}
