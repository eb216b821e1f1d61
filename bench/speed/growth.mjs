/** A change of a thousand rows at the end of a table that grows: what it costs must not grow with it. */
import { goal, howOf, inTurns } from "../harness/measure.mjs";
import { median, say } from "../harness/report.mjs";
import { Star } from "./star.mjs";

const SIZES = [1_000_000, 10_000_000, 50_000_000];
const CHANGED = 1000;

export async function growthCase({ openLake, scale, repetitions, only }) {
  const results = [];
  for (const full of SIZES) {
    const rows = Math.max(Math.round(full * scale), 10 * CHANGED);
    const work = `${CHANGED} rows changed at the end of ${rows}`;
    if (only !== undefined && !work.includes(only)) continue;
    const place = await openLake();
    try {
      const star = new Star(place.lake, place.connection, rows);
      await star.make();
      say(work);
      const { times, exact } = await inTurns(repetitions, {
        change: () => star.mixed(CHANGED, true),
        byHand: () => star.byHand(),
        refresh: () => star.refresh(),
        full: () => star.recompute(),
        exact: () => star.exact(),
      });
      results.push({ work, how: howOf(star.last), times, goals: [], exact });
    } finally {
      await place.dispose();
    }
  }
  const [least, most] = [results[0], results.at(-1)];
  if (least !== undefined && least !== most) {
    most.goals.push(
      goal(`of ${least.work.split(" of ").at(-1)} rows`, "slower", 1.5, most.times.refresh, [
        median(least.times.refresh),
      ]),
      goal("than a recompute", "faster", 10, most.times.refresh, most.times.full),
    );
  }
  return results;
}
