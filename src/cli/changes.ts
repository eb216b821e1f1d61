/** `changes` and `state`: rows of a view's change log. */
import type { Command } from "commander";
import { ConfigError } from "../errors.js";
import type { Lake, LogRows } from "../index.js";
import type { LogOptions } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";
import { snapshotOption } from "./options.js";
import { type KeyOption, keyOption, outOption, writeRows } from "./rows.js";

interface CommandOptions {
  readonly since?: bigint;
  readonly until?: bigint;
  readonly at?: bigint;
  readonly consumer?: string;
  readonly key?: readonly KeyOption[];
  readonly out?: string;
  readonly commit?: boolean;
}

const CHANGES_EXAMPLES = `
Examples:
  ducklake-ivm changes daily_sales --since 120
  ducklake-ivm changes daily_sales --since 120 --key day=2024-05-01 --output csv
  ducklake-ivm changes --consumer search --output json --commit | ./index.sh`;

const STATE_EXAMPLES = `
Examples:
  ducklake-ivm state daily_sales --output parquet --out daily_sales.parquet
  ducklake-ivm state daily_sales --at 120 --key day=2024-05-01
  ducklake-ivm state --consumer search --output json --commit`;

export function registerChanges(program: Command, context: CliContext): void {
  program
    .command("changes")
    .description("print what changed in a view between two snapshots, from its change log, sorted by key")
    .argument("[view]", "the view; a consumer has one of its own")
    .addOption(snapshotOption("--since <n>", "changes after this snapshot"))
    .addOption(snapshotOption("--until <n>", "changes up to this snapshot instead of the newest"))
    .option("--consumer <name>", "the next changes of a registered consumer")
    .option("--commit", "move the consumer on when everything was written")
    .addOption(keyOption())
    .addOption(outOption())
    .addHelpText("after", CHANGES_EXAMPLES)
    .action((view: string | undefined, options: CommandOptions, command: Command) =>
      context.run(command, (session) => printRows(session, view, "changes", options)),
    );
}

export function registerState(program: Command, context: CliContext): void {
  program
    .command("state")
    .description("print a view's whole state at a snapshot, from its change log, sorted by key")
    .argument("[view]", "the view; a consumer has one of its own")
    .addOption(snapshotOption("--at <n>", "the state at this snapshot instead of the newest"))
    .option("--consumer <name>", "the state for a registered consumer that begins or has fallen behind")
    .option("--commit", "set the consumer to the state's position when everything was written")
    .addOption(keyOption())
    .addOption(outOption())
    .addHelpText("after", STATE_EXAMPLES)
    .action((view: string | undefined, options: CommandOptions, command: Command) =>
      context.run(command, (session) => printRows(session, view, "state", options)),
    );
}

async function printRows(
  session: Session,
  view: string | undefined,
  what: "changes" | "state",
  options: CommandOptions,
): Promise<Outcome> {
  const { out, commit, key, ...positions } = options;
  if (view === undefined && options.consumer === undefined) {
    throw new ConfigError("view_missing", `\`${what}\` needs a view or a consumer.`, {
      hint: "Name a view, or give --consumer.",
    });
  }
  if (commit === true && options.consumer === undefined) {
    throw new ConfigError("commit_without_consumer", "--commit moves a consumer, and none is named.", {
      hint: "Add --consumer.",
    });
  }
  return withLake(session, async (lake) => {
    const request: LogOptions = {
      ...positions,
      ...(key === undefined ? {} : { keys: key }),
      signal: session.stopSignal(),
    };
    // Before the state is read, so that another process that moves the consumer meanwhile is noticed.
    const standing = commit === true && what === "state" ? await positionOf(lake, options.consumer) : undefined;
    const rows = what === "changes" ? await lake.changes(view, request) : await lake.state(view, request);
    const count = await writeRows(session, rows, out);
    // At least once: the consumer moves only after all rows were written, and only from where it stood.
    const committed =
      commit === true && (await lake.commitConsumer(options.consumer ?? "", rows.to, rows.from ?? standing));
    const summary = {
      view: rows.view,
      from: rows.from,
      to: rows.to,
      rows: count,
      ...(commit === true ? { committed } : {}),
    };
    return { json: { [what]: summary }, lines: ["", summaryLine(rows, count, committed)] };
  });
}

/** Where a consumer stands; undefined for one that is not registered, which the reading tells. */
async function positionOf(lake: Lake, name: string | undefined): Promise<bigint | null | undefined> {
  return (await lake.consumers()).find((consumer) => consumer.name === name)?.position;
}

function summaryLine(rows: LogRows, count: bigint | null, committed: boolean): string {
  const what = rows.from === null ? `state at snapshot ${rows.to}` : `changes of (${rows.from}, ${rows.to}]`;
  const rowsText = count === null ? "" : `, ${count.toLocaleString("en-US")} rows`;
  return `${rows.view}: ${what}${rowsText}${committed ? "; the consumer moved on" : ""}`;
}
