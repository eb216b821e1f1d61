/** Times of work, and how two of them compare. */
import { median, say } from "./report.mjs";

/** Milliseconds that the work takes. */
export async function time(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The median of some times with the least and the most, for people. */
export function spread(times) {
  const text = (value) => (value < 100 ? value.toFixed(1) : value.toFixed(0));
  return `${text(median(times))} (${text(Math.min(...times))}–${text(Math.max(...times))})`;
}

/**
 * A goal that is met by the ratio of two medians or by one median in milliseconds.
 * @param kind `faster`: `other` takes at least `bound` times as long; `slower`: at most `bound` times as long as `other`;
 * `within`: at most `bound` milliseconds.
 */
export function goal(what, kind, bound, times, other) {
  const value =
    kind === "within"
      ? median(times)
      : kind === "faster"
        ? median(other) / median(times)
        : median(times) / median(other);
  const met = kind === "faster" ? value >= bound : value <= bound;
  const unit = kind === "within" ? " ms" : "×";
  const sign = kind === "faster" ? "≥" : "≤";
  const digits = kind === "within" ? 0 : 1;
  return { text: `${what} ${value.toFixed(Math.max(digits, 1))}${unit} (${sign} ${bound}${unit})`, met };
}

/** Measures one piece of work in a lake of its own, which is removed afterwards; nothing where it was not asked for. */
export async function inLake({ openLake, only }, work, measure) {
  if (only !== undefined && !work.includes(only)) return [];
  const place = await openLake();
  try {
    say(work);
    return await measure(place);
  } finally {
    await place.dispose();
  }
}

/**
 * Makes a change and times what takes it in, in turns, and compares after each. The first round warms caches and teaches
 * the choice of cost what this machine takes; it is not told.
 * @param work `change` makes a change, numbered from 0; `refresh`, `full` and `byHand` are timed (the last two may be left
 * out); `exact` says whether both have the same rows.
 */
export async function inTurns(repetitions, { change, refresh, full, byHand, exact }) {
  const times = { refresh: [], full: [], byHand: [], rival: [] };
  let right = true;
  for (let round = 0; round <= repetitions; round += 1) {
    await change(round);
    const found = { refresh: await time(refresh) };
    if (byHand !== undefined) found.byHand = await time(byHand);
    if (full !== undefined) found.full = await time(full);
    right = (await exact()) && right;
    if (round > 0) for (const [name, value] of Object.entries(found)) times[name].push(value);
  }
  return { times, exact: right };
}

/** True where two relations have the same rows, as bags. Sums of doubles may differ in their last digits. */
export async function sameRows(connection, one, other) {
  const described = await connection.runAndReadAll(`DESCRIBE FROM ${one}`);
  const columns = described.getRowObjectsJS().map(({ column_name: name, column_type: type }) => {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    return type === "DOUBLE" || type === "FLOAT" ? `round(${quoted}, 4)` : quoted;
  });
  const rows = (relation) => `SELECT ${columns.join(", ")} FROM ${relation}`;
  const differing = await connection.runAndReadAll(
    `SELECT count(*) FROM ((${rows(one)} EXCEPT ALL ${rows(other)}) UNION ALL (${rows(other)} EXCEPT ALL ${rows(one)}))`,
  );
  return differing.getRows()[0][0] === 0n;
}

/** Refreshes some views of a lake, which must not fail. */
export async function refreshed(lake, options) {
  const result = await lake.refresh(options);
  for (const { view, error } of result.views) if (error !== null) throw new Error(`${view}: ${error.message}`);
  return result;
}

/** How the views of a run were kept: `incremental, 1 of 3 terms`, or how many by which strategy. */
export function howOf({ views }) {
  if (views.length === 1) return `${views[0].strategy}, ${views[0].terms.run} of ${views[0].terms.total} terms`;
  const counts = new Map();
  for (const { strategy, status } of views) {
    const way = strategy ?? status;
    counts.set(way, (counts.get(way) ?? 0) + 1);
  }
  return [...counts].map(([way, count]) => `${count} ${way}`).join(", ");
}
