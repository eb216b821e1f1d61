import type { DuckDBConnection } from "@duckdb/node-api";

interface Question {
  readonly about: string;
  readonly sql: string;
  readonly answer: (row: Readonly<Record<string, unknown>>) => string;
}

const questions: readonly Question[] = [
  {
    about: "latest airline",
    sql: `SELECT airline, round(average_delay, 1) AS minutes FROM airline_delays
      WHERE landed >= 1000 ORDER BY average_delay DESC LIMIT 1`,
    answer: ({ airline, minutes }) => `${airline}, ${minutes} minutes on average`,
  },
  {
    about: "latest region",
    sql: "SELECT region, round(average_delay, 1) AS minutes FROM region_delays ORDER BY average_delay DESC LIMIT 1",
    answer: ({ region, minutes }) => `${region}, ${minutes} minutes on average`,
  },
  {
    about: "delays spread",
    sql: `SELECT airport, airline, round(delay_after_delay, 1) AS late, round(delay_otherwise, 1) AS otherwise
      FROM ripple_delays ORDER BY pairs DESC LIMIT 1`,
    answer: ({ airport, airline, late, otherwise }) =>
      `${late} minutes for all that leave ${airport} later on the day\n` +
      `when a flight of ${airline} left an hour late, else ${otherwise}`,
  },
];

/** What the views say, read as any reader of the lake would read them. */
export async function answers(connection: DuckDBConnection): Promise<string[]> {
  const lines: string[] = [];
  for (const { about, sql, answer } of questions) {
    const [row] = (await connection.runAndReadAll(sql)).getRowObjectsJS();
    if (row === undefined) continue;
    const [first = "", ...more] = answer(row).split("\n");
    lines.push(`${about.padEnd(14)}  ${first}`, ...more.map((line) => `${" ".repeat(16)}${line}`));
  }
  return lines;
}
