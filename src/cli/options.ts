/** Options that several commands have. */
import { InvalidArgumentError, Option } from "commander";
import { PERIOD_HELP, parsePeriod } from "../project/period.js";

export function toSnapshotOption(): Option {
  return snapshotOption("--to-snapshot <n>", "bring the views to this snapshot instead of the newest");
}

export function snapshotOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parseSnapshot);
}

export function dryRunOption(): Option {
  return new Option("--dry-run", "tell what would be done, and do nothing");
}

/** An option whose value is a number of things, at least one. */
export function countOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < 1) {
      throw new InvalidArgumentError("Write a whole number, at least 1.");
    }
    return number;
  });
}

/** An option whose value is a length of time, given in milliseconds. */
export function periodOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string) => {
    const milliseconds = parsePeriod(text);
    if (milliseconds === undefined) throw new InvalidArgumentError(PERIOD_HELP);
    return milliseconds;
  });
}

/** An option whose value is an exit code. */
export function exitCodeOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string) => {
    const code = Number(text);
    if (!/^\d{1,3}$/.test(text) || code > 255)
      throw new InvalidArgumentError("An exit code is a number from 0 to 255.");
    return code;
  });
}

export function requireIncrementalOption(): Option {
  return new Option(
    "--require-incremental",
    "do nothing where a view has no incremental rule, except those with refresh: full",
  );
}

export function parseSnapshot(text: string): bigint {
  if (!/^\d+$/.test(text)) {
    throw new InvalidArgumentError("A snapshot is a whole number.");
  }
  return BigInt(text);
}
