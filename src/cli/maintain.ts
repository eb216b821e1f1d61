/** `retention` and `maintain`: what of the lake is still needed, and the upkeep that leaves it alone. */
import type { Command } from "commander";
import type { MaintainResult, RetentionResult } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import { periodOption } from "./options.js";
import type { Style } from "./style.js";

export function registerRetention(program: Command, context: CliContext): void {
  program
    .command("retention")
    .description("tell the oldest snapshot that any view or log needs, who needs it, and how long it will last")
    .addHelpText("after", "\nExample:\n  ducklake-ivm retention")
    .action((_options: object, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const result = await withLake(session, (lake) => lake.retention({ signal: session.stopSignal() }));
        return { json: result, lines: retentionLines(result, session.style) };
      }),
    );
}

interface MaintainCommand {
  readonly expireOlderThan?: number;
  readonly grace?: number;
  readonly orphansOlderThan?: number;
  readonly yes?: boolean;
}

export function registerMaintain(program: Command, context: CliContext): void {
  program
    .command("maintain")
    .description("flush, merge and rewrite files, compact logs; with --yes also expire snapshots and delete files")
    .addOption(periodOption("--expire-older-than <time>", "expire snapshots older than this that nothing needs"))
    .addOption(
      periodOption("--grace <time>", "what younger readers may still need: nothing younger goes (default: 1h)"),
    )
    .addOption(
      periodOption(
        "--orphans-older-than <time>",
        "delete data files older than this that the lake knows nothing of; longer than any transaction takes",
      ),
    )
    .option("--yes", "expire and delete; without it that part is only told")
    .addHelpText("after", "\nExample:\n  ducklake-ivm maintain --expire-older-than 7d --yes")
    .action((options: MaintainCommand, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const { expireOlderThan, grace, orphansOlderThan, yes } = options;
        const result = await withLake(session, (lake) =>
          lake.maintain({
            signal: session.stopSignal(),
            deletes: yes === true,
            ...(expireOlderThan === undefined ? {} : { expireOlderThanMs: expireOlderThan }),
            ...(grace === undefined ? {} : { graceMs: grace }),
            ...(orphansOlderThan === undefined ? {} : { orphansOlderThanMs: orphansOlderThan }),
          }),
        );
        return { json: result, lines: maintainLines(result, session.style) };
      }),
    );
}

function retentionLines(result: RetentionResult, style: Style): string[] {
  const { needed, expireOlderThanMs, lastsMs } = result;
  const lines = [`The lake keeps ${result.snapshots} snapshots, from ${result.oldest} to ${result.newest}.`];
  if (needed === null) lines.push("No view or log needs any but the newest.");
  else {
    const holders = result.needs.filter(({ snapshot }) => snapshot === needed.snapshot);
    const names = holders.map(({ kind, name, source }) => (kind === "log" ? `log of ${name}` : `${name} (${source})`));
    lines.push(`Needed from ${needed.snapshot} on, ${age(needed.ageMs)} old, by ${names.join(", ")}.`);
  }
  if (expireOlderThanMs === null) lines.push("The lake has no expire_older_than: only a call expires snapshots.");
  else {
    const left = lastsMs === null ? "" : lastsMs > 0 ? `, ${age(lastsMs)} from now` : ", which is now";
    lines.push(`The lake expires snapshots older than ${age(expireOlderThanMs)}${needed === null ? "" : left}.`);
  }
  for (const { name, view, position, held } of result.consumers) {
    const at = position === null ? "takes the state first" : `stands at ${position}`;
    lines.push(`Consumer ${name} of ${view} ${at}; its windows are ${held ? "kept" : "not kept any more"}.`);
  }
  return [...lines, ...result.warnings.map(({ text }) => `${style.yellow("warning:")} ${text}`)];
}

function maintainLines(result: MaintainResult, style: Style): string[] {
  const words = { done: "", told: " (told only; --yes does it)", skipped: " (skipped)" };
  const lines = result.steps.map(({ step, status, count, text }) => `${step}: ${count} ${text}${words[status]}`);
  return [...lines, ...result.retention.warnings.map(({ text }) => `${style.yellow("warning:")} ${text}`)];
}

function age(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  if (minutes < 120) return `${minutes} minutes`;
  return minutes < 2_880 ? `${Math.round(minutes / 60)} hours` : `${Math.round(minutes / 1_440)} days`;
}
