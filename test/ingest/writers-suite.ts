/** Several programs that write to one table at once. */

import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, test, vi } from "vitest";
import { Session } from "../../src/engine/session.js";
import { type IngestResult, IvmError, type Lake, open } from "../../src/index.js";
import { type LakeKind, type TempLake, tempLake } from "../setup/lake.js";

const WRITERS = 3;

export function writersTests(kind: LakeKind): void {
  describe(`writers at once, catalog in ${kind.catalog}`, { timeout: 180_000 }, () => {
    test("append each key once", async () => {
      await using writers = await Writers.start(kind);
      for (let round = 0; round < 4; round++) {
        const results = await writers.all((lake, index) =>
          lake.append("t", `SELECT i AS k, 'same' AS v FROM range(${round * 10}, ${round * 10 + 20 + index}) r(i)`, {
            key: ["k"],
          }),
        );
        const inserted = results.reduce((sum, { rows }) => sum + rows.inserted, 0n);
        // 20 to 22 keys, of which all but the first round know ten to twelve.
        expect(inserted).toBe(round === 0 ? 22n : 10n);
      }
      expect(await writers.value("SELECT count(*) || ' of ' || count(DISTINCT k) FROM t")).toBe("52 of 52");
    });

    test("go on where another one makes the state schema after their transaction has begun", async () => {
      await using writers = await Writers.start(kind);
      const { rows } = Session.prototype;
      let made = false;
      const spy = vi.spyOn(Session.prototype, "rows").mockImplementation(async function (this: Session, sql, values) {
        const answer = await rows.call(this, sql, values);
        if (!made && sql.includes("ducklake_current_snapshot")) {
          made = true;
          await writers.other.define([]);
        }
        return answer as never;
      });
      const appended = await writers.lake.append("t", "SELECT 1 AS k, 'a' AS v").finally(() => spy.mockRestore());
      expect(made).toBe(true);
      expect(appended).toMatchObject({ status: "written", rows: { inserted: 1n } });
    });

    test("leave the whole state of one of them, never a mixture", async () => {
      await using writers = await Writers.start(kind);
      await writers.lake.append("t", "SELECT i AS k, 'old' AS v FROM range(40) r(i)");
      // Only inserts, only deletes, and both: the first two of them are no conflict for DuckLake itself.
      const states = (round: number): string[] => [
        `SELECT i AS k, 'old' AS v FROM range(${60 + round}) r(i)`,
        `SELECT i AS k, 'old' AS v FROM range(${10 + round}) r(i)`,
        `SELECT i AS k, CASE WHEN i < 5 THEN 'new ${round}' ELSE 'old' END AS v FROM range(${30 + round}) r(i)`,
      ];
      for (let round = 0; round < 4; round++) {
        const inputs = states(round);
        const results = await writers.all((lake, index) =>
          lake.merge("t", inputs[index] ?? "", { key: ["k"], deleteMissing: true }),
        );
        const last = results
          .map((result, index) => ({ snapshot: result.snapshot ?? -1n, input: inputs[index] }))
          .reduce((one, other) => (one.snapshot > other.snapshot ? one : other));
        const differing = `(FROM t EXCEPT ALL ${last.input}) UNION ALL (${last.input} EXCEPT ALL FROM t)`;
        expect(await writers.value(`SELECT count(*) FROM (${differing})`), `round ${round}`).toBe("0");
      }
    });

    test("create a table once", async () => {
      await using writers = await Writers.start(kind);
      const results = await writers.all((lake) =>
        lake.merge("made", "SELECT i AS k, 'a' AS v FROM range(5) r(i)", { key: ["k"], create: true }),
      );
      expect(results.filter(({ created }) => created)).toHaveLength(1);
      expect(await writers.value("SELECT count(*) FROM made")).toBe("5");
    });
  });
}

class Writers implements AsyncDisposable {
  private constructor(
    private readonly place: TempLake,
    private readonly lakes: readonly Lake[],
    private readonly instance: DuckDBInstance | undefined,
  ) {}

  static async start(kind: LakeKind): Promise<Writers> {
    const place = await tempLake(kind);
    // A catalog in a DuckDB file serves one instance only.
    const instance = kind.catalog === "duckdb" ? await DuckDBInstance.create(":memory:") : undefined;
    const lakes: Lake[] = [];
    for (let index = 0; index < WRITERS; index++) {
      lakes.push(await open({ ...place.config, engine: { threads: 1 } }, instance === undefined ? {} : { instance }));
    }
    const writers = new Writers(place, lakes, instance);
    await writers.value("CREATE TABLE t(k BIGINT, v VARCHAR)");
    return writers;
  }

  get lake(): Lake {
    return this.lakes[0] as Lake;
  }

  get other(): Lake {
    return this.lakes[1] as Lake;
  }

  /** Has all of them work at once; one that is told to try again does. */
  all(work: (lake: Lake, index: number) => Promise<IngestResult>): Promise<IngestResult[]> {
    return Promise.all(
      this.lakes.map(async (lake, index) => {
        for (let attempt = 0; ; attempt++) {
          try {
            return await work(lake, index);
          } catch (error) {
            if (!(error instanceof IvmError) || !error.retryable || attempt === 5) throw error;
          }
        }
      }),
    );
  }

  async value(sql: string): Promise<string> {
    const connection = await this.lake.connect();
    try {
      return String((await connection.runAndReadAll(sql)).getRowsJson()[0]?.[0]);
    } finally {
      connection.closeSync();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const lake of this.lakes) await lake.close();
    this.instance?.closeSync();
    await this.place.cleanup();
  }
}
