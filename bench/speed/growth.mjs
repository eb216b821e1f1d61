/** A change of a thousand rows at the end of a table that grows: what it costs must not grow with it. */
import { goal, howOf, inLake, inTurns } from "../harness/measure.mjs";
import { Star } from "./star.mjs";

const SIZES = [1_000_000, 10_000_000, 50_000_000];
const CHANGED = 1000;

export async function growthCase({ scale, repetitions, ...options }) {
  const results = [];
  for (const full of SIZES) {
    const rows = Math.max(Math.round(full * scale), 10 * CHANGED);
    const work = `${CHANGED} rows changed at the end of ${rows}`;
    const measured = inLake(options, work, async ({ lake, connection }) => {
      const star = new Star(lake, connection, rows);
      await star.make();
      const { times, exact } = await inTurns(repetitions, {
        change: () => star.mixed(CHANGED, true),
        byHand: () => star.byHand(),
        refresh: () => star.refresh(),
        full: () => star.recompute(),
        exact: () => star.exact(),
      });
      return [{ work, how: howOf(star.last), times, goals: [], exact }];
    });
    results.push(...(await measured));
  }
  const [least, most] = [results[0], results.at(-1)];
  if (least !== undefined && least !== most) {
    most.goals.push(
      goal(`of ${least.work.split(" of ").at(-1)} rows`, "slower", 1.5, most.times.refresh, least.times.refresh),
      goal("than a recompute", "faster", 10, most.times.refresh, most.times.full),
    );
  }
  return results;
}
