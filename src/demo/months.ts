import type { DuckDBConnection } from "@duckdb/node-api";

export const monthNames = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

/** `late`: rows of the month before, or facts that should have been there from the start. */
type ChangeKind = "new" | "late" | "corrected" | "removed";

/** One SQL statement on the lake and what it means. */
interface Change {
  readonly kind: ChangeKind;
  readonly what: string;
  readonly sql: string;
}

export interface AppliedChange {
  readonly kind: ChangeKind;
  readonly what: string;
  readonly rows: number;
}

// Which rows come late, or wrong at first, follows from the data alone, so every run tells the same story.
const FILED_LATE = "flight_id % 5003 = 7";
const READ_LATE = "reading % 401 = 7";
const ESTIMATED = "flight_id % 101 = 5 AND dep_time IS NOT NULL AND arr_delay IS NOT NULL";
const IN_THE_AIR = "arr_time < dep_time AND day = day(last_day(make_date(year, month, day)))";

const FLIGHT = `flight_id, make_date(year, month, day), time_hour + minute * INTERVAL 1 MINUTE, time_hour,
  carrier, flight, tailnum, origin, dest, distance, dep_time, dep_delay`;
const READING = "origin, time_hour, temp, wind_speed, precip, visib";

/** Loads one month into the lake, with what is learned by then about the months before; one snapshot a statement. */
export async function loadMonth(connection: DuckDBConnection, month: number): Promise<AppliedChange[]> {
  const applied: AppliedChange[] = [];
  for (const { kind, what, sql } of changesOf(month)) {
    const { rowsChanged } = await connection.run(sql);
    applied.push({ kind, what, rows: rowsChanged });
  }
  return applied;
}

/** A change so small that it stays inside the catalog: three flights of the month get ten minutes later. */
export async function correctThree(connection: DuckDBConnection, month: number): Promise<AppliedChange[]> {
  const { rowsChanged } =
    await connection.run(`UPDATE flights SET dep_delay = dep_delay + 10, arr_delay = arr_delay + 10
    WHERE flight_id IN
    (SELECT flight_id FROM flights WHERE month(flight_date) = ${month} AND arr_delay IS NOT NULL
      ORDER BY flight_id LIMIT 3)`);
  return [{ kind: "corrected", what: "flights, ten minutes later than was thought", rows: rowsChanged }];
}

/** The statements of one month, 1 to 12, in order. */
function changesOf(month: number): Change[] {
  if (month === 1) return loads(month);
  const event = events.get(month);
  return [...loads(month), ...corrections(month), ...(event === undefined ? [] : [event])];
}

function loads(month: number): Change[] {
  return [
    {
      kind: "new",
      what: "flights",
      // An estimated arrival repeats the departure's delay; who is in the air at the month's end has none yet.
      sql: `INSERT INTO flights
        SELECT ${FLIGHT},
          CASE WHEN ${IN_THE_AIR} THEN NULL WHEN ${ESTIMATED} THEN dep_delay ELSE arr_delay END,
          CASE WHEN ${IN_THE_AIR} THEN NULL ELSE air_time END
        FROM world_flights WHERE month = ${month} AND NOT (${FILED_LATE}) ORDER BY flight_id`,
    },
    {
      kind: "new",
      what: "weather readings",
      sql: `INSERT INTO weather
        SELECT ${READING} FROM world_weather WHERE month = ${month} AND NOT (${READ_LATE}) ORDER BY reading`,
    },
    {
      kind: "new",
      what: "planes",
      sql: `INSERT INTO planes
        SELECT tailnum, year, manufacturer, model, seats FROM world_planes
        WHERE first_month = ${month} ORDER BY tailnum`,
    },
  ];
}

function corrections(month: number): Change[] {
  const before = `month = ${month - 1}`;
  return [
    {
      kind: "late",
      what: "flights",
      sql: `INSERT INTO flights
        SELECT ${FLIGHT}, arr_delay, air_time FROM world_flights WHERE ${before} AND ${FILED_LATE} ORDER BY flight_id`,
    },
    {
      kind: "late",
      what: "weather readings",
      sql: `INSERT INTO weather
        SELECT ${READING} FROM world_weather WHERE ${before} AND ${READ_LATE} ORDER BY reading`,
    },
    {
      kind: "corrected",
      what: "estimated arrivals",
      sql: `UPDATE flights SET arr_delay = known.arr_delay
        FROM (SELECT flight_id, arr_delay FROM world_flights WHERE ${before} AND ${ESTIMATED}) known
        WHERE flights.flight_id = known.flight_id AND flights.arr_delay <> known.arr_delay`,
    },
    {
      kind: "corrected",
      what: "landings after midnight of the last day",
      sql: `UPDATE flights SET arr_delay = known.arr_delay, air_time = known.air_time
        FROM (SELECT flight_id, arr_delay, air_time FROM world_flights WHERE ${before} AND ${IN_THE_AIR}) known
        WHERE flights.flight_id = known.flight_id AND flights.air_time IS NULL`,
    },
    {
      kind: "corrected",
      what: "planes with more seats",
      sql: `UPDATE planes SET seats = seats + 6 WHERE tailnum IN
        (SELECT tailnum FROM world_planes WHERE plane % 800 = ${month} AND first_month < ${month})`,
    },
    {
      kind: "removed",
      what: "flights that never left",
      sql: `DELETE FROM flights WHERE flight_id IN
        (SELECT flight_id FROM world_flights WHERE ${before} AND dep_time IS NULL)`,
    },
  ];
}

/** What happens once in the year. */
const events: ReadonlyMap<number, Change> = new Map([
  [
    2,
    {
      kind: "corrected",
      what: "airline name (Jetblue is now written JetBlue)",
      sql: "UPDATE airlines SET name = 'JetBlue Airways' WHERE carrier = 'B6'",
    },
  ],
  [
    3,
    {
      kind: "late",
      what: "Caribbean airports",
      // The data set lists none of these, although 7,602 of its flights go there.
      sql: `INSERT INTO airports VALUES
        ('BQN', 'Rafael Hernandez', 'America/Puerto_Rico'), ('PSE', 'Mercedita', 'America/Puerto_Rico'),
        ('SJU', 'Luis Munoz Marin Intl', 'America/Puerto_Rico'), ('STT', 'Cyril E King', 'America/St_Thomas')`,
    },
  ],
  [
    8,
    {
      kind: "corrected",
      what: "airline name (Pinnacle Airlines is now Endeavor Air)",
      sql: "UPDATE airlines SET name = 'Endeavor Air Inc.' WHERE carrier = '9E'",
    },
  ],
  [
    12,
    {
      kind: "corrected",
      what: "planes' maker (AIRBUS INDUSTRIE is now written AIRBUS)",
      sql: "UPDATE planes SET manufacturer = 'AIRBUS' WHERE manufacturer = 'AIRBUS INDUSTRIE'",
    },
  ],
]);
