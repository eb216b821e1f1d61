/** The frame around every command: output, errors, exit codes and signals. */
import type { Command } from "commander";
import { ConfigError, InterruptedError } from "../errors.js";
import { toJson } from "../json.js";
import type { Logger } from "../logger.js";
import type { CliContext, CommandEnd, GlobalOptions, Outcome, OutputFormat, RowFormat, Session } from "./context.js";
import { EXIT, exitCodeOf } from "./exit.js";
import { failureEntry, failureLines, toFailure } from "./failure.js";
import { type LogEntry, type LogFormat, logLine } from "./log.js";
import { ProgressDisplay } from "./progress.js";
import { createRedactor } from "./redact.js";
import { isTerminal, type Style, styleFor } from "./style.js";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** How long a command may take to stop in order: a server that does not answer can't be interrupted. */
const STOP_WITHIN_MS = 10_000;

export class Frame implements CliContext {
  readonly #process: NodeJS.Process;
  readonly #redact: (text: string) => string;
  #logFormat: LogFormat = "text";
  #progress: ProgressDisplay | undefined;

  constructor(process: NodeJS.Process) {
    this.#process = process;
    this.#redact = createRedactor(process.env);
    for (const stream of [process.stdout, process.stderr]) {
      // The reader has gone, as `head` does: there is nobody left to tell.
      stream.on("error", (error: NodeJS.ErrnoException) =>
        process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.failed),
      );
    }
  }

  async run(command: Command, work: (session: Session) => Promise<Outcome>): Promise<void> {
    const options = command.optsWithGlobals<GlobalOptions>();
    this.#logFormat = options.logFormat;
    const stop = new AbortController();
    let stopsInOrder = false;
    let atEnd: (end: CommandEnd) => Promise<void> = async () => undefined;
    let deadline: NodeJS.Timeout | undefined;
    const output = options.output === "text" ? "text" : "json";
    // Rows in a form of their own are alone on stdout.
    const tellsJson = options.output === "json";
    const session: Session = {
      output,
      rowFormat: options.output,
      out: this.#process.stdout,
      projectDirectory: options.projectDir,
      env: this.#process.env,
      lakeOptions: options.retryFor === undefined ? {} : { retryForMs: options.retryFor },
      style: this.#style(output),
      logger: this.#logger(options.debug === true),
      words: this.#process.argv.slice(2),
      redact: this.#redact,
      say: (line) => this.#say(line, output),
      progress: () => this.#startProgress(options.debug === true),
      stopSignal: () => {
        stopsInOrder = true;
        return stop.signal;
      },
      atEnd: (work) => {
        atEnd = work;
      },
    };
    const stopAtOnce = (): void => {
      this.fail(interrupted(), options);
      this.#end(onSignal);
    };
    const onSignal = (): void => {
      if (!stopsInOrder || stop.signal.aborted) {
        stopAtOnce();
        return;
      }
      this.#log({ level: "warn", message: "Stopping in order; a second signal stops at once." });
      stop.abort(interrupted());
      deadline = setTimeout(stopAtOnce, STOP_WITHIN_MS);
    };
    for (const signal of SIGNALS) {
      this.#process.on(signal, onSignal);
    }
    let end: CommandEnd;
    try {
      requireRowCommand(command, options.output);
      const outcome = await work(session);
      end = this.#finish(outcome, output, tellsJson, stop.signal.aborted);
    } catch (error) {
      // What was stopped may fail in any way.
      const wasStopped = stop.signal.aborted && !(error instanceof InterruptedError);
      end = this.fail(wasStopped ? interrupted() : error, options);
    } finally {
      clearTimeout(deadline);
      for (const signal of SIGNALS) {
        this.#process.off(signal, onSignal);
      }
    }
    await atEnd(end).catch((error: unknown) => {
      session.logger.warn(error instanceof Error ? error.message : String(error));
    });
  }

  /** Tells an error and sets the exit code. */
  fail(error: unknown, options: Pick<GlobalOptions, "output" | "logFormat" | "debug">): CommandEnd {
    this.#logFormat = options.logFormat;
    this.#endProgress();
    const failure = toFailure(error, { debug: options.debug === true, redact: this.#redact });
    if (options.logFormat === "json") {
      this.#log(failureEntry(failure));
    } else {
      for (const line of failureLines(failure, styleFor(this.#process.stderr, this.#process.env))) {
        this.#write(this.#process.stderr, line);
      }
    }
    if (options.output === "json") {
      this.#write(this.#process.stdout, JSON.stringify(toJson({ error: failure })));
    }
    return this.#ended({ error: failure }, exitCodeOf(error));
  }

  #finish(outcome: Outcome, output: OutputFormat, tellsJson: boolean, wasStopped: boolean): CommandEnd {
    this.#endProgress();
    if (tellsJson) {
      this.#write(this.#process.stdout, JSON.stringify(toJson(outcome.json)));
    } else {
      for (const line of outcome.lines ?? []) {
        this.#say(line, output);
      }
    }
    const interrupted = wasStopped && outcome.runsUntilStopped !== true;
    return this.#ended(outcome.json, interrupted ? EXIT.interrupted : (outcome.exitCode ?? EXIT.ok));
  }

  #ended(json: object, exitCode: number): CommandEnd {
    this.#process.exitCode = exitCode;
    return { json, exitCode };
  }

  /**
   * Ends the process on the spot, by the signal itself: `exit` would wait for calls into DuckDB to return. Shells
   * tell it as exit code 130.
   */
  #end(listener: () => void): void {
    for (const signal of SIGNALS) {
      this.#process.off(signal, listener);
    }
    this.#process.kill(this.#process.pid, "SIGINT");
  }

  #logger(debug: boolean): Logger {
    const log =
      (level: LogEntry["level"]): Logger["info"] =>
      (message, fields = {}) =>
        this.#log({ level, message, fields });
    return { debug: debug ? log("debug") : () => undefined, info: log("info"), warn: log("warn") };
  }

  #log(entry: LogEntry): void {
    this.#write(this.#process.stderr, logLine(entry, this.#logFormat, this.#redact));
  }

  /** A line for a person: where stdout is for rows or JSON, it is one of the log. */
  #say(line: string, output: OutputFormat): void {
    if (output === "text") this.#write(this.#process.stdout, line);
    else if (this.#logFormat === "text") this.#write(this.#process.stderr, line);
    else if (line !== "") this.#log({ level: "info", message: line });
  }

  async #startProgress(debug: boolean): Promise<ProgressDisplay> {
    const { stderr, env } = this.#process;
    const log = (entry: LogEntry): void => {
      if (entry.level !== "debug" || debug) this.#log(entry);
    };
    const onTerminal = this.#logFormat === "text" && isTerminal(stderr, env);
    this.#progress = await ProgressDisplay.start({ stream: stderr, format: this.#logFormat, log }, onTerminal);
    return this.#progress;
  }

  #endProgress(): void {
    this.#progress?.pause();
    this.#progress = undefined;
  }

  #style(output: OutputFormat): Style {
    return styleFor(output === "json" ? this.#process.stderr : this.#process.stdout, this.#process.env);
  }

  #write(stream: NodeJS.WriteStream, line: string): void {
    const wasShown = this.#progress?.pause() === true;
    stream.write(`${line}\n`);
    if (wasShown) this.#progress?.resume();
  }
}

/** Commands that give rows of data, in any of the forms. */
const ROW_COMMANDS = new Set(["changes", "query", "state"]);

function requireRowCommand(command: Command, format: RowFormat): void {
  if (format === "text" || format === "json" || ROW_COMMANDS.has(command.name())) return;
  throw new ConfigError("output_format", `\`${command.name()}\` has no output as ${format}.`, {
    hint: "Use --output text or json.",
  });
}

function interrupted(): InterruptedError {
  const hint = "Nothing is half done: run the same command again.";
  return new InterruptedError("interrupted", "Stopped by a signal.", { hint });
}
