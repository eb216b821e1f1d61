/** The join of three tables with its catalog in PostgreSQL and its files in MinIO: what a refresh asks of both, by table. */
import { open } from "../../dist/index.js";
import { howOf, inTurns } from "../harness/measure.mjs";
import { makePlace } from "../harness/places.mjs";
import { say } from "../harness/report.mjs";
import { Star } from "./star.mjs";

const CHANGES = [
  ["nothing changed", async () => undefined],
  ["0.01 % inserted", (star) => star.inserts(share(star))],
  ["0.01 % mixed, clustered", (star) => star.mixed(share(star), true)],
  ["0.01 % mixed, scattered", (star) => star.mixed(share(star), false)],
  ["ten products changed", (star) => star.products(10)],
];

export async function remoteCase({ scale, repetitions, only }) {
  const rows = Math.max(Math.round(1_000_000 * scale), 10_000);
  const results = [];
  for (const [kind, change] of CHANGES) {
    const work = `PostgreSQL and MinIO, ${rows} rows, ${kind}`;
    if (only !== undefined && !work.includes(only)) continue;
    say(work);
    // A lake's extension reports to the first log that is switched on, so each kind of change has a lake of its own.
    const { place, remove } = await makePlace({ catalog: "postgres", data: "s3" });
    const lake = await open(place);
    const connection = await lake.connect();
    try {
      const star = new Star(lake, connection, rows);
      await star.make();
      const { times, exact } = await inTurns(repetitions, {
        change: () => change(star),
        refresh: () => star.refresh(),
        full: () => star.recompute(),
        exact: () => star.exact(),
      });
      const how = howOf(star.last);
      await change(star);
      await connection.run("CALL enable_logging(level => 'debug')");
      await star.refresh();
      await connection.run("CALL disable_logging()");
      const asked = await requests(connection, place.dataPath);
      results.push({ work, how: `${how}; ${asked.text}`, times, goals: touched(kind, asked.read), exact });
    } finally {
      connection.closeSync();
      await lake.close();
      remove();
    }
  }
  return results;
}

function share(star) {
  return Math.max(20, Math.round(star.rows / 10_000));
}

/** Requests by method and table, and questions to the catalog. Headers hold signatures, and are not looked at. */
async function requests(connection, dataPath) {
  const rows = async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJS();
  const folder = dataPath.replace(/^s3:\/\/[^/]+\//, "");
  const found = await rows(`
    SELECT method, "table", count(*)::INTEGER AS n, count(DISTINCT url)::INTEGER AS files FROM (
      SELECT request.type::VARCHAR AS method, split_part(request.url, '?', 1) AS url, regexp_extract(url, '${folder}([^/]+/[^/]+)/', 1) AS "table"
      FROM duckdb_logs_parsed('HTTP')
    ) GROUP BY ALL ORDER BY ALL`);
  const [{ n }] = await rows("SELECT count(*)::INTEGER AS n FROM duckdb_logs WHERE type = 'DuckLakeMetadata'");
  const lines = found.map(({ method, table, n: count, files }) => `${count} ${method} ${table} (${files} files)`);
  const read = new Map(found.filter(({ method }) => method === "GET").map(({ table, files }) => [table, files]));
  return { text: [`${n} catalog queries`, ...lines].join(", "), read };
}

/** Files that may matter: of the changed table those that came and those that lost rows; of the others all, of which there is one. */
function touched(kind, read) {
  const most = {
    "nothing changed": { items: 0, orders: 0, products: 0 },
    "0.01 % inserted": { items: 1, orders: 1, products: 1 },
  }[kind];
  if (most === undefined) return [];
  return Object.entries(most).map(([table, bound]) => {
    const files = read.get(`main/${table}`) ?? 0;
    return { text: `${files} files of ${table} (≤ ${bound})`, met: files <= bound };
  });
}
