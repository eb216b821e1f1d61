/** Random choices, all from fast-check's generator, so that one seed names one history. */

import type { Random } from "fast-check";

export class Draw {
  constructor(private readonly random: Random) {}

  integer(min: number, max: number): number {
    return this.random.nextInt(min, max);
  }

  /** True in `percent` of 100 cases. */
  chance(percent: number): boolean {
    return this.random.nextInt(0, 99) < percent;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.random.nextInt(0, values.length - 1)];
    if (value === undefined) throw new RangeError("pick from an empty list");
    return value;
  }

  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    let position = this.random.nextInt(0, total - 1);
    for (const [weight, value] of choices) {
      if (position < weight) return value;
      position -= weight;
    }
    throw new RangeError("weights must be positive");
  }

  shuffle<T>(values: readonly T[]): T[] {
    const result = [...values];
    for (let index = result.length - 1; index > 0; index--) {
      const other = this.random.nextInt(0, index);
      const held = result[index] as T;
      result[index] = result[other] as T;
      result[other] = held;
    }
    return result;
  }

  /** Up to `count` different values, in random order. */
  sample<T>(values: readonly T[], count: number): T[] {
    return this.shuffle(values).slice(0, count);
  }

  times<T>(min: number, max: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.integer(min, max) }, (_, index) => make(index));
  }
}
