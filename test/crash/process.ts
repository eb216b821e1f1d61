/** Real processes that work on a lake and are killed at an exact step. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import type {
  DefineOptions,
  LakeConfig,
  MergeOptions,
  RefreshOptions,
  ReplayOptions,
  ViewDefinition,
} from "../../src/index.js";

const CHILD = fileURLToPath(new URL("child.mjs", import.meta.url));

export type Task = (
  | { readonly action: "refresh"; readonly options?: Omit<RefreshOptions, "signal" | "toSnapshot"> }
  | { readonly action: "compact" }
  | { readonly action: "define"; readonly definitions: readonly ViewDefinition[]; readonly options?: DefineOptions }
  | { readonly action: "merge"; readonly table: string; readonly from: string; readonly options: MergeOptions }
  | { readonly action: "replay"; readonly options: ReplayOptions }
) & {
  /** Die before the statement of this number (from 1) is sent. */
  readonly before?: number;
  /** Die after the COMMIT of this number was sent, without waiting for its answer. */
  readonly commit?: number;
  /** How long after that, in milliseconds. */
  readonly delay?: number;
};

export type Outcome =
  | { readonly killed: true }
  /** The statements that the work took, where it was done before the step at which to die. */
  | { readonly killed: false; readonly statements: readonly string[] };

export class Worker {
  private constructor(
    private readonly process: ChildProcess,
    private readonly lines: AsyncIterator<string>,
    private readonly reader: Interface,
    private readonly errors: string[],
  ) {}

  /** Starts a process; with `early` it opens the lake at once, else only when it gets its task. */
  static async start(config: LakeConfig, early: boolean): Promise<Worker> {
    const child = spawn(process.execPath, [CHILD], { stdio: ["pipe", "pipe", "pipe"] });
    const reader = createInterface({ input: child.stdout });
    const errors: string[] = [];
    child.stderr.on("data", (chunk) => errors.push(String(chunk)));
    child.stdin.on("error", () => undefined);
    const worker = new Worker(child, reader[Symbol.asyncIterator](), reader, errors);
    worker.say({ config, early });
    if ((await worker.hear()) !== "ready") throw new Error(`the worker did not start: ${errors.join("")}`);
    return worker;
  }

  async run(task: Task): Promise<Outcome> {
    this.say(task);
    const ended = once(this.process, "exit") as Promise<[number | null, string | null]>;
    const answer = (await this.hear()) as { statements: string[]; failures: unknown[] } | undefined;
    const [, signal] = await ended;
    if (answer !== undefined) {
      if (answer.failures.length > 0) throw new Error(`the work failed: ${JSON.stringify(answer.failures)}`);
      return { killed: false, statements: answer.statements };
    }
    if (signal !== "SIGKILL") throw new Error(`the worker failed: ${this.errors.join("")}`);
    return { killed: true };
  }

  /** Ends a worker that got no task. */
  dismiss(): void {
    this.reader.close();
    this.process.kill("SIGKILL");
  }

  private say(message: unknown): void {
    const text = JSON.stringify(message, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    this.process.stdin?.write(`${text}\n`);
  }

  private async hear(): Promise<unknown> {
    const { value, done } = await this.lines.next();
    return done === true ? undefined : JSON.parse(value);
  }
}

/** Workers for one lake, of which the next one starts while the last one's work is examined. */
export class Workers implements AsyncDisposable {
  private next: Promise<Worker>;

  constructor(
    private readonly config: LakeConfig,
    private readonly early: boolean,
  ) {
    this.next = Worker.start(config, early);
  }

  async run(task: Task): Promise<Outcome> {
    const worker = await this.next;
    const outcome = await worker.run(task);
    this.next = Worker.start(this.config, this.early);
    // Where it fails, the next `run` says so.
    this.next.catch(() => undefined);
    return outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (await this.next).dismiss();
  }
}
