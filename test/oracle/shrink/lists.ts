/** Ways to make a list smaller. */

/** Without its halves, then without each element; never empty where `least` is 1. */
export function* fewer<T>(values: readonly T[], least = 0): Generator<readonly T[]> {
  const half = Math.floor(values.length / 2);
  if (values.length >= 4) {
    yield values.slice(0, half);
    yield values.slice(half);
  }
  if (values.length <= least) return;
  for (let index = values.length - 1; index >= 0; index--) yield values.toSpliced(index, 1);
}

/** With one element replaced by each of its smaller forms. */
export function* each<T>(values: readonly T[], smaller: (value: T) => Iterable<T>): Generator<readonly T[]> {
  for (const [index, value] of values.entries()) {
    for (const other of smaller(value)) yield values.with(index, other);
  }
}
