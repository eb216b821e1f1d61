/** How far a command is: a bar on a terminal; elsewhere lines, once it takes long, or entries of a log in JSON. */
import type { SingleBar } from "cli-progress";
import type { LogFields } from "../logger.js";
import type { LogEntry, LogFormat } from "./log.js";

export interface ProgressState {
  /** Such as refresh. */
  readonly task: string;
  readonly done: number;
  readonly of: number;
  /** What is counted, such as views. */
  readonly unit: string;
  /** Rows that were read or written so far. */
  readonly rows: bigint;
  /** What is being done now. */
  readonly step: string;
}

export interface Progress {
  /** What is being done now. */
  show(state: ProgressState): void;
  /** One part is done. */
  tell(message: string, fields: LogFields): void;
}

export interface ProgressOptions {
  readonly stream: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly log: (entry: LogEntry) => void;
  readonly format: LogFormat;
  /** Where there is no terminal, nothing is said of what takes less than this. */
  readonly quietMs?: number;
  /** Milliseconds of a clock that only goes forward. */
  readonly now?: () => number;
}

const QUIET_MS = 10_000;
const BAR = "{task} {bar} {value}/{total} {unit}  {rows}{step}";

/** Shows progress until it is stopped; lines that are written meanwhile go between `pause` and `resume`. */
export class ProgressDisplay implements Progress {
  private shown: ProgressState | undefined;
  private running = false;
  private readonly begun: number;
  private said: number;

  private constructor(
    private readonly options: ProgressOptions,
    /** Undefined where there is no terminal. */
    private readonly bar: SingleBar | undefined,
  ) {
    this.begun = this.now();
    this.said = this.begun;
  }

  /** @param onTerminal whether a bar is wanted. */
  static async start(options: ProgressOptions, onTerminal: boolean): Promise<ProgressDisplay> {
    if (!onTerminal) return new ProgressDisplay(options, undefined);
    const { default: library } = await import("cli-progress");
    const look = { format: BAR, barsize: 24, barCompleteChar: "█", barIncompleteChar: "░" };
    const manners = { hideCursor: true, clearOnComplete: true, linewrap: false, gracefulExit: false };
    return new ProgressDisplay(options, new library.SingleBar({ ...look, ...manners, stream: options.stream }));
  }

  show(state: ProgressState): void {
    const isNew = state.step !== this.shown?.step;
    this.shown = state;
    if (this.bar !== undefined) {
      this.draw(this.bar, state);
      return;
    }
    const { task, done, of, unit, rows, step } = state;
    if (this.options.format === "json") {
      if (isNew) this.options.log({ level: "debug", message: step, fields: { task, done, of, rows } });
    } else if (isNew && this.isLong() && this.now() - this.said >= this.quietMs) {
      this.say(`${task}: ${done}/${of} ${unit}, ${step}`);
    }
  }

  tell(message: string, fields: LogFields): void {
    if (this.bar !== undefined) return;
    if (this.options.format === "json") this.options.log({ level: "info", message, fields });
    else if (this.isLong()) this.say(message, fields);
  }

  /** Takes the bar away for a line that is to be written; answers whether there was one. */
  pause(): boolean {
    const was = this.running;
    if (was) this.bar?.stop();
    this.running = false;
    return was;
  }

  resume(): void {
    if (this.bar !== undefined && this.shown !== undefined) this.draw(this.bar, this.shown);
  }

  private draw(bar: SingleBar, state: ProgressState): void {
    const { task, done, of, unit, rows, step } = state;
    const told = { task, unit, step, rows: rows === 0n ? "" : `${rows.toLocaleString("en-US")} rows  ` };
    if (!this.running) {
      bar.start(of, done, told);
      this.running = true;
      return;
    }
    bar.setTotal(of);
    bar.update(done, told);
  }

  private say(message: string, fields: LogFields = {}): void {
    this.said = this.now();
    this.options.log({ level: "info", message, fields });
  }

  private isLong(): boolean {
    return this.now() - this.begun >= this.quietMs;
  }

  private get quietMs(): number {
    return this.options.quietMs ?? QUIET_MS;
  }

  private now(): number {
    return (this.options.now ?? (() => performance.now()))();
  }
}
