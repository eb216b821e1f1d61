/** Times of work, and how two of them compare. */
import { median } from "./report.mjs";

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
