/** Finding out what changed in a large table: by this project, and by DuckLake's own functions. */

import { currentSnapshot } from "../../dist/catalog/snapshots.js";
import { loadSourceDelta } from "../../dist/catalog/source-delta.js";
import { tableAt } from "../../dist/catalog/tables.js";
import { Engine } from "../../dist/engine/lake.js";
import { goal, time } from "../harness/measure.mjs";
import { say } from "../harness/report.mjs";

const DELETES = 617;
const INSERTS = 894;
const COLUMNS = ["id", "a", "b", "c", "d"];

export async function deltaCase({ openLake, scale, repetitions, only }) {
  const place = await openLake();
  const size = Math.max(Math.round(6_000_000 * scale), 100_000);
  const results = [];
  try {
    await place.connection.run(
      `CREATE TABLE t AS SELECT i AS id, (hash(i) % 1000)::BIGINT AS a, i % 77 AS b, (i * 7 % 100000)::DECIMAL(12, 2) AS c, i % 13 AS d FROM range(${size}) r(i)`,
    );
    await place.detach();
    const engine = await Engine.open(place.config);
    const session = await engine.session();
    try {
      for (const [kind, bound] of [
        ["clustered", 15],
        ["scattered", 60],
      ]) {
        if (only !== undefined && !`delta, ${kind}`.includes(only)) continue;
        say(`delta of ${size} rows, ${kind}`);
        results.push(await measure(session, engine, size, kind, bound, repetitions));
      }
    } finally {
      session.close();
      engine.close();
    }
  } finally {
    await place.dispose();
  }
  return results;
}

let step = 0;

async function measure(session, engine, size, kind, bound, repetitions) {
  const table = { schema: "main", table: "t" };
  const times = { refresh: [], full: [], byHand: [], rival: [] };
  let exact = true;
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    step += 1;
    const from = await currentSnapshot(session);
    const gone =
      kind === "clustered"
        ? `id BETWEEN ${1000 * (repetition + 1)} AND ${1000 * (repetition + 1) + DELETES - 1}`
        : `id IN (SELECT id FROM t ORDER BY hash(id + ${step}) LIMIT ${DELETES})`;
    await session.run("BEGIN");
    await session.run(`DELETE FROM t WHERE ${gone}`);
    await session.run(`INSERT INTO t SELECT ${size + step * INSERTS} + i, 1, 2, 3, 4 FROM range(${INSERTS}) r(i)`);
    await session.run("COMMIT");
    const to = await currentSnapshot(session);
    const form = await tableAt(session, engine, table, to);
    const request = {
      table,
      tableId: form.id,
      from,
      to,
      method: "files",
      reason: null,
      columns: COLUMNS,
      inlined: true,
      target: "bench_delta",
    };
    let delta;
    await session.beginReading();
    times.refresh.push(await time(async () => (delta = await loadSourceDelta(session, engine, request))));
    exact &&= delta.method === "files" && delta.rows === BigInt(DELETES + INSERTS);
    const feed = (name) => `SELECT ${COLUMNS.join(", ")} FROM ${name}('lake', 'main', 't', ${from + 1n}, ${to})`;
    times.byHand.push(
      await time(() =>
        session.run(
          `CREATE OR REPLACE TEMP TABLE by_feed AS ${feed("ducklake_table_insertions")} UNION ALL ${feed("ducklake_table_deletions")}`,
        ),
      ),
    );
    times.full.push(
      await time(() =>
        session.run(`CREATE OR REPLACE TEMP TABLE by_changes AS SELECT * FROM table_changes('t', ${from + 1n}, ${to})`),
      ),
    );
    await session.endReading();
  }
  return {
    work: `delta of ${DELETES} deletes and ${INSERTS} inserts, ${kind}`,
    how: "full: table_changes; by hand: the two feed functions",
    times,
    goals: [goal("", "within", bound, times.refresh)],
    exact,
  };
}
