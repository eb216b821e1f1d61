import {
  type DuckDBConnection,
  type DuckDBResultReader,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from "@duckdb/node-api";
import { engineError } from "./errors.js";

export type Parameter = string | number | bigint | boolean | null | readonly string[];

/**
 * One connection, with errors translated into this project's family. A connection does one thing at a time: callers
 * never run two statements of one session side by side.
 */
export class Session {
  /** Statements sent so far; for tests and benchmarks that count round trips. */
  statements = 0;
  private reading = false;
  private readonly answers = new Map<string, Promise<unknown>>();

  constructor(
    readonly connection: DuckDBConnection,
    private readonly redact: (text: string) => string = (text) => text,
  ) {}

  /** Rows as objects: BIGINT and HUGEINT as bigint, VARCHAR as string, lists as arrays. */
  async rows<Row>(sql: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    this.statements += 1;
    try {
      const result = await this.ask(sql, parameters);
      return result.getRowObjectsJS() as Row[];
    } catch (error) {
      throw engineError(error, this.redact);
    }
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
    this.statements += 1;
    try {
      const prepared = await this.connection.prepare(sql);
      return Array.from({ length: prepared.columnCount }, (_, index) => prepared.columnType(index));
    } catch (error) {
      throw engineError(error, this.redact);
    }
  }

  /** Rows that are computed while they are read, a chunk at a time. */
  async *stream(sql: string): AsyncGenerator<readonly DuckDBValue[][], void, undefined> {
    this.statements += 1;
    try {
      yield* (await this.connection.stream(sql)).yieldRows();
    } catch (error) {
      throw engineError(error, this.redact);
    }
  }

  /** The type of an expression that reads no table. */
  async typeOf(expression: string): Promise<DuckDBType> {
    this.statements += 1;
    try {
      return (await this.connection.runAndReadAll(`SELECT ${expression}`)).columnType(0);
    } catch (error) {
      throw engineError(error, this.redact);
    }
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
  async beginReading(): Promise<void> {
    if (this.reading) return;
    await this.run("BEGIN");
    this.reading = true;
  }

  /** Ends what `beginReading` began; `keep: false` after an error, which has made the transaction useless. */
  async endReading(keep = true): Promise<void> {
    if (!this.reading) return;
    this.reading = false;
    if (keep) await this.run("COMMIT");
    else await this.run("ROLLBACK").catch(() => undefined);
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
      // The engine has ended the transaction by itself where COMMIT failed; a ROLLBACK then has nothing to do.
      await this.run("ROLLBACK").catch(() => undefined);
      throw error;
    }
  }

  close(): void {
    this.connection.closeSync();
  }
}

function bindable(value: Parameter): DuckDBValue {
  return Array.isArray(value) ? listValue(value as string[]) : (value as DuckDBValue);
}
