import type { DuckDBConnection } from "@duckdb/node-api";

interface Question {
  readonly sql: string;
  readonly answer: (row: Readonly<Record<string, unknown>>) => string;
}

const questions: readonly Question[] = [
  {
    sql: `SELECT airline, round(average_delay, 1) AS minutes FROM airline_delays
      WHERE landed >= 1000 ORDER BY average_delay DESC LIMIT 1`,
    answer: ({ airline, minutes }) => `${airline} lands latest, ${minutes} minutes on average.`,
  },
  {
    sql: `SELECT airport, airline, round(delay_after_delay, 1) AS late, round(delay_otherwise, 1) AS otherwise
      FROM ripple_delays ORDER BY pairs DESC LIMIT 1`,
    answer: ({ airport, airline, late, otherwise }) =>
      `After ${airline} left ${airport} an hour late, others leave ${late} minutes late that day, otherwise ${otherwise}.`,
  },
  {
    sql: "SELECT region, round(average_delay, 1) AS minutes FROM region_delays ORDER BY average_delay DESC LIMIT 1",
    answer: ({ region, minutes }) =>
      `Flights to the time zone ${region} are the latest, ${minutes} minutes on average.`,
  },
];

/** What the views say, read as any reader of the lake would read them. */
export async function answers(connection: DuckDBConnection): Promise<string[]> {
  const lines: string[] = [];
  for (const { sql, answer } of questions) {
    const [row] = (await connection.runAndReadAll(sql)).getRowObjectsJS();
    if (row !== undefined) lines.push(answer(row));
  }
  return lines;
}
