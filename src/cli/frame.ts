/** The frame around every command: output, errors, exit codes and signals. */
import type { Command } from "commander";
import { ConfigError, InterruptedError } from "../errors.js";
import { toJson } from "../json.js";
import type { LogFields, Logger } from "../logger.js";
import type { CliContext, CommandEnd, GlobalOptions, Outcome, OutputFormat, RowFormat, Session } from "./context.js";
import { EXIT, exitCodeOf } from "./exit.js";
import { failureLines, toFailure } from "./failure.js";
import { createRedactor } from "./redact.js";
import { type Style, styleFor } from "./style.js";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** How long a command may take to stop in order: a server that does not answer can't be interrupted. */
const STOP_WITHIN_MS = 10_000;

export class Frame implements CliContext {
  readonly #process: NodeJS.Process;
  readonly #redact: (text: string) => string;

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
      say: (line) => this.#write(output === "json" ? this.#process.stderr : this.#process.stdout, line),
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
      this.#write(this.#process.stderr, "Stopping in order; a second signal stops at once.");
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
  fail(error: unknown, options: { readonly output: RowFormat; readonly debug?: boolean }): CommandEnd {
    const failure = toFailure(error, { debug: options.debug === true, redact: this.#redact });
    for (const line of failureLines(failure, styleFor(this.#process.stderr, this.#process.env))) {
      this.#write(this.#process.stderr, line);
    }
    if (options.output === "json") {
      this.#write(this.#process.stdout, JSON.stringify(toJson({ error: failure })));
    }
    return this.#ended({ error: failure }, exitCodeOf(error));
  }

  #finish(outcome: Outcome, output: OutputFormat, tellsJson: boolean, wasStopped: boolean): CommandEnd {
    if (tellsJson) {
      this.#write(this.#process.stdout, JSON.stringify(toJson(outcome.json)));
    } else {
      for (const line of outcome.lines ?? []) {
        this.#write(output === "text" ? this.#process.stdout : this.#process.stderr, line);
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
    const log = (message: string, fields: LogFields = {}): void => {
      const facts = Object.entries(fields).map(([name, value]) => ` ${name}=${value}`);
      this.#write(this.#process.stderr, this.#redact(message + facts.join("")));
    };
    return { debug: debug ? log : () => undefined, info: log, warn: log };
  }

  #style(output: OutputFormat): Style {
    return styleFor(output === "json" ? this.#process.stderr : this.#process.stdout, this.#process.env);
  }

  #write(stream: NodeJS.WriteStream, line: string): void {
    stream.write(`${line}\n`);
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
