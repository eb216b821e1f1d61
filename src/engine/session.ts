import {
  type DuckDBConnection,
  type DuckDBResultReader,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  ResultReturnType,
  VARCHAR,
} from "@duckdb/node-api";
import { EngineError } from "../errors.js";
import { quotePath } from "../sql/quote.js";
import { engineError } from "./errors.js";
import { interrupted, interruptOnAbort } from "./interrupt.js";
import { Patience } from "./retry.js";

export type Parameter = string | number | bigint | boolean | null | readonly string[];

/**
 * One connection, with errors translated into this project's family. A connection does one thing at a time: callers
 * never run two statements of one session side by side.
 */
export class Session {
  /** Statements sent so far; for tests and benchmarks that count round trips. */
  statements = 0;
  /** True where steps keep their rows in temporary tables, because the memory did not do without (see sparing.ts). */
  sparing = false;
  /** The transaction that reads are put into is opened by the first of them: work that reads nothing has none. */
  private reading: "no" | "wanted" | "open" = "no";
  private heedsSignal = true;
  private readonly answers = new Map<string, Promise<unknown>>();

  constructor(
    readonly connection: DuckDBConnection,
    private readonly redact: (text: string) => string = (text) => text,
    /** Its abort interrupts the statement that runs and refuses those that follow, with InterruptedError. */
    readonly signal?: AbortSignal,
    /** What is left of the time for conflicts of the call that the session is for. */
    readonly patience: Patience = new Patience(),
  ) {}

  /** Rows as objects: BIGINT and HUGEINT as bigint, VARCHAR as string, lists as arrays. */
  async rows<Row>(sql: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    const result = await this.send(() => this.ask(sql, parameters));
    return result.getRowObjectsJS() as Row[];
  }

  private ask(sql: string, parameters: readonly Parameter[]): Promise<DuckDBResultReader> {
    // Not prepared: a prepared CALL of DuckLake's rewrite fails, since its transaction has ended by then.
    if (parameters.length === 0) return this.connection.runAndReadAll(sql);
    const types = parameters.map((value) => (Array.isArray(value) ? LIST(VARCHAR) : undefined));
    const typed = types.some((type) => type !== undefined);
    return this.connection.runAndReadAll(sql, parameters.map(bindable), typed ? (types as never) : undefined);
  }

  /** The types of a query's columns, which is not run. */
  async typesOf(sql: string): Promise<DuckDBType[]> {
    const prepared = await this.send(() => this.connection.prepare(sql));
    return Array.from({ length: prepared.columnCount }, (_, index) => prepared.columnType(index));
  }

  /**
   * Rows that are computed while they are read, a chunk at a time.
   * @throws EngineError `rows_cut_short` where they ended early and nothing tells why.
   */
  async *stream(sql: string): AsyncGenerator<readonly DuckDBValue[][], void, undefined> {
    const result = await this.send(() => this.connection.stream(sql));
    const chunks = result.yieldRows();
    try {
      while (true) {
        const { value, done } = await this.send(() => chunks.next(), false);
        if (done === true) break;
        yield value;
      }
    } finally {
      await chunks.return?.();
    }
    if (result.returnType === ResultReturnType.INVALID) await this.tellWhatFailed(sql);
  }

  /** The driver ends a stream that failed on the way as if all rows had been read, and keeps the error to itself. */
  private async tellWhatFailed(sql: string): Promise<never> {
    await this.run(`EXPLAIN ANALYZE ${sql}`);
    throw new EngineError("rows_cut_short", "DuckDB stopped before the last row, and does not do so again.", {
      hint: "Run the same command again.",
    });
  }

  /** The type of an expression that reads no table. */
  async typeOf(expression: string): Promise<DuckDBType> {
    return (await this.send(() => this.connection.runAndReadAll(`SELECT ${expression}`))).columnType(0);
  }

  /** The only row; an answer of no or several rows is a fault of this project. */
  async row<Row>(sql: string, parameters: readonly Parameter[] = []): Promise<Row> {
    const rows = await this.rows<Row>(sql, parameters);
    const [row] = rows;
    if (row === undefined || rows.length !== 1) throw new TypeError(`expected one row, got ${rows.length}: ${sql}`);
    return row;
  }

  async run(sql: string, parameters: readonly Parameter[] = []): Promise<void> {
    await this.rows(sql, parameters);
  }

  /** Drops temporary tables, those that are there, in one go. */
  async dropTemporary(tables: readonly string[]): Promise<void> {
    if (tables.length === 0) return;
    await this.run(tables.map((table) => `DROP TABLE IF EXISTS ${quotePath(["temp", table])}`).join("; "));
  }

  /** Runs INSERT, UPDATE or DELETE and answers the number of rows that it touched. */
  async change(sql: string, parameters: readonly Parameter[] = []): Promise<bigint> {
    const [row] = await this.rows<{ Count: bigint }>(sql, parameters);
    return row?.Count ?? 0n;
  }

  /**
   * Puts the statements that follow into one transaction, up to the next `endReading` or `transaction`: each would
   * otherwise open and close one on the catalog, which costs more than most of them. Nothing of the lake may be
   * written meanwhile, since reads of a table that its own transaction has written are not to be trusted.
   */
  beginReading(): void {
    if (this.reading === "no") this.reading = "wanted";
  }

  /** Ends what `beginReading` began; `keep: false` after an error, which has made the transaction useless. */
  async endReading(keep = true): Promise<void> {
    const before = this.reading;
    this.reading = "no";
    if (before !== "open") return;
    if (keep) await this.run("COMMIT");
    else await this.rollback();
  }

  private async openReading(): Promise<void> {
    this.reading = "open";
    try {
      await this.run("BEGIN");
    } catch (error) {
      this.reading = "no";
      throw error;
    }
  }

  /** An answer that can't change while the session lives, such as anything about a snapshot, asked for once. */
  remember<Answer>(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.answers.get(key);
    if (known !== undefined) return known as Promise<Answer>;
    const answer = ask();
    this.answers.set(key, answer);
    answer.catch(() => this.answers.delete(key));
    return answer;
  }

  /** Runs `work` in a transaction; any error rolls it back and goes on to the caller. */
  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.endReading();
    await this.run("BEGIN");
    try {
      const result = await work();
      await this.run("COMMIT");
      return result;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  /** Work that must be done although the signal may be aborted: it puts back what others would stumble over. */
  async despiteAbort<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = this.heedsSignal;
    this.heedsSignal = false;
    try {
      return await work();
    } finally {
      this.heedsSignal = before;
    }
  }

  /** @throws InterruptedError where the signal is aborted: for long work between statements. */
  checkSignal(): void {
    if (this.signal?.aborted === true && this.heedsSignal) throw interrupted(this.signal);
  }

  /** The engine has ended the transaction by itself where COMMIT failed; a ROLLBACK then has nothing to do. */
  private async rollback(): Promise<void> {
    await this.despiteAbort(() => this.run("ROLLBACK")).catch(() => undefined);
  }

  /** Does what one statement takes, with the signal heeded and errors translated. */
  private async send<Result>(work: () => Promise<Result>, isStatement = true): Promise<Result> {
    this.checkSignal();
    if (isStatement && this.reading === "wanted") await this.openReading();
    if (isStatement) this.statements += 1;
    const signal = this.heedsSignal ? this.signal : undefined;
    const stop = signal === undefined ? undefined : interruptOnAbort(this.connection, signal);
    try {
      return await work();
    } catch (error) {
      throw signal?.aborted === true ? interrupted(signal) : engineError(error, this.redact);
    } finally {
      stop?.();
    }
  }

  /** The same connection for the next call. Until then snapshots may be expired, or the catalog restored. */
  renewed(signal: AbortSignal | undefined, patience: Patience | undefined): Session {
    return new Session(this.connection, this.redact, signal, patience);
  }

  close(): void {
    this.connection.closeSync();
  }
}

function bindable(value: Parameter): DuckDBValue {
  return Array.isArray(value) ? listValue(value as string[]) : (value as DuckDBValue);
}
