/** Lengths of time as people write them: `90s`, `15m`, `12h`, `7d`. */

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** For messages about a length of time that is none. */
export const PERIOD_HELP = "Write a length of time (90s, 15m, 12h, 7d).";

/** A number and its unit. */
export const PERIOD = /^(\d{1,9})([smhd])$/;

/** In milliseconds; undefined for a text that is no length of time. */
export function parsePeriod(text: string): number | undefined {
  const [, number, unit] = PERIOD.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * UNITS[unit as keyof typeof UNITS];
}
