import type { ViewDefinition } from "../types.js";

/** A view of the demo and the question that it answers. */
export interface DemoView extends ViewDefinition {
  readonly question: string;
}

const airlineDelays: DemoView = {
  name: "airline_delays",
  question: "How late is each airline? (flights and airlines)",
  sql: `SELECT a.name AS airline,
       count(*) AS flights,
       count(f.arr_delay) AS landed,
       count(*) FILTER (WHERE f.arr_delay >= 15) AS late,
       sum(f.arr_delay) AS minutes_late,
       avg(f.arr_delay) AS average_delay,
       max(f.arr_delay) AS worst_delay
FROM flights f
JOIN airlines a USING (carrier)
GROUP BY a.name`,
};

const rippleDelays: DemoView = {
  name: "ripple_delays",
  question: "How late do flights leave after one that was an hour late? (a self-join)",
  sql: `SELECT p.name AS airport,
       a.name AS airline,
       count(*) AS pairs,
       count(*) FILTER (WHERE f.dep_delay >= 60) AS pairs_after_delay,
       avg(later.dep_delay) FILTER (WHERE f.dep_delay >= 60) AS delay_after_delay,
       avg(later.dep_delay) FILTER (WHERE f.dep_delay < 60) AS delay_otherwise,
       max(later.dep_delay) AS worst_delay
FROM flights f
JOIN flights later
  ON later.origin = f.origin
 AND later.flight_date = f.flight_date
 AND later.scheduled > f.scheduled
JOIN airports p ON p.faa = f.origin
JOIN airlines a ON a.carrier = f.carrier
GROUP BY p.name, a.name`,
};

const badWeatherFleet: DemoView = {
  name: "bad_weather_fleet",
  question: "Who flies which make of plane where in bad weather? (five tables)",
  sql: `SELECT a.name AS airline,
       p.manufacturer,
       d.tzone AS region,
       count(*) AS flights,
       sum(p.seats) AS seats,
       avg(f.dep_delay) AS average_delay,
       max(w.wind_speed) AS strongest_wind,
       min(w.visib) AS poorest_sight
FROM flights f
JOIN airlines a ON a.carrier = f.carrier
JOIN planes p ON p.tailnum = f.tailnum
JOIN airports d ON d.faa = f.dest
JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
WHERE w.precip > 0 OR w.visib < 3
GROUP BY a.name, p.manufacturer, d.tzone
HAVING count(*) >= 10`,
};

const routeDelays: DemoView = {
  name: "route_delays",
  question: "How late is each airline on its routes of 50 flights or more? (airports joined twice)",
  sql: `SELECT f.origin,
       f.dest,
       o.name || ' - ' || d.name AS route,
       a.name AS airline,
       count(*) AS flights,
       count(f.arr_delay) AS landed,
       sum(f.arr_delay) AS minutes_late,
       min(f.air_time) AS fastest,
       max(f.arr_delay) AS worst_delay
FROM flights f
JOIN airports o ON o.faa = f.origin
JOIN airports d ON d.faa = f.dest
JOIN airlines a ON a.carrier = f.carrier
GROUP BY f.origin, f.dest, o.name || ' - ' || d.name, a.name
HAVING count(*) >= 50`,
};

const regionDelays: DemoView = {
  name: "region_delays",
  question: "How late are flights to each time zone? (a view over the view route_delays)",
  sql: `SELECT d.tzone AS region,
       count(*) AS routes,
       sum(r.flights) AS flights,
       sum(r.minutes_late) / sum(r.landed) AS average_delay,
       max(r.worst_delay) AS worst_delay
FROM route_delays r
JOIN airports d ON d.faa = r.dest
GROUP BY d.tzone`,
};

const views = [airlineDelays, rippleDelays, badWeatherFleet, routeDelays, regionDelays];

/**
 * In an order in which each view comes after the views that it reads. The demo times both ways of refreshing itself, so
 * it leaves no choice between them.
 */
export const demoViews: readonly DemoView[] = views.map((view) => ({ ...view, refresh: "incremental" }));
