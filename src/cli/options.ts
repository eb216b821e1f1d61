/** Options that several commands have. */
import { InvalidArgumentError, Option } from "commander";

export function toSnapshotOption(): Option {
  return new Option("--to-snapshot <n>", "bring the views to this snapshot instead of the newest").argParser(
    parseSnapshot,
  );
}

export function dryRunOption(): Option {
  return new Option("--dry-run", "tell what would be done, and do nothing");
}

function parseSnapshot(text: string): bigint {
  if (!/^\d+$/.test(text)) {
    throw new InvalidArgumentError("A snapshot is a whole number.");
  }
  return BigInt(text);
}
