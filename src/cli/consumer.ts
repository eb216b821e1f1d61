/** `consumer`: registered readers of change logs. */
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { ConsumerStatus } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import { parseSnapshot, snapshotOption } from "./options.js";
import type { Style } from "./style.js";

const EXAMPLES = `
Examples:
  ducklake-ivm consumer add search daily_sales
  ducklake-ivm state --consumer search --output json --commit
  ducklake-ivm changes --consumer search --output json --commit
  ducklake-ivm consumer list`;

export function registerConsumer(program: Command, context: CliContext): void {
  const consumer = program
    .command("consumer")
    .description("register readers of change logs, and move them on")
    .addHelpText("after", EXAMPLES);
  consumer
    .command("add")
    .description("register a consumer of a view; it takes the whole state first, or begins at a snapshot")
    .argument("<name>", "the consumer's name")
    .argument("<view>", "the view")
    .addOption(new Option("--at <n>", "begin at this snapshot, or at the end of the log").argParser(parseStart))
    .addHelpText("after", "\nExample:\n  ducklake-ivm consumer add search daily_sales --at end")
    .action((name: string, view: string, { at }: { readonly at?: bigint | "end" }, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        await withLake(session, (lake) => lake.addConsumer(name, view, at));
        return { json: { name, view, at: at ?? null }, lines: [`Consumer ${name} reads the log of ${view}.`] };
      }),
    );
  consumer
    .command("list")
    .description("show how far consumers are behind")
    .addHelpText("after", "\nExample:\n  ducklake-ivm consumer list")
    .action((_options: object, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const consumers = await withLake(session, (lake) => lake.consumers());
        return { json: { consumers }, lines: await consumerLines(consumers, session.style) };
      }),
    );
  consumer
    .command("commit")
    .description("move a consumer to a position that `changes` or `state` told")
    .argument("<name>", "the consumer's name")
    .addArgument(new Argument("<n>", "the position").argParser(parseSnapshot))
    .addOption(snapshotOption("--from <n>", "only if the consumer still stands there"))
    .addHelpText("after", "\nExample:\n  ducklake-ivm consumer commit search 120 --from 110")
    .action((name: string, position: bigint, { from }: { readonly from?: bigint }, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const moved = await withLake(session, (lake) => lake.commitConsumer(name, position, from));
        const text = moved
          ? `Consumer ${name} stands at ${position}.`
          : `Consumer ${name} stood at ${position} already.`;
        return { json: { name, position, moved }, lines: [text] };
      }),
    );
  consumer
    .command("remove")
    .description("forget a consumer, which then holds no windows back")
    .argument("<name>", "the consumer's name")
    .addHelpText("after", "\nExample:\n  ducklake-ivm consumer remove search")
    .action((name: string, _options: object, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        await withLake(session, (lake) => lake.removeConsumer(name));
        return { json: { name }, lines: [`Consumer ${name} is forgotten.`] };
      }),
    );
}

function parseStart(text: string): bigint | "end" {
  if (text === "end") return text;
  try {
    return parseSnapshot(text);
  } catch {
    throw new InvalidArgumentError("It is a snapshot, or end.");
  }
}

async function consumerLines(consumers: readonly ConsumerStatus[], style: Style): Promise<string[]> {
  const { duration, orDash, table } = await import("./format.js");
  if (consumers.length === 0) return ["No consumer is registered."];
  const rows = consumers.map((consumer) => [
    consumer.name,
    consumer.view,
    orDash(consumer.position),
    consumer.end.toString(),
    consumer.windows === null ? "-" : consumer.windows.toString(),
    consumer.rows === null ? "-" : consumer.rows.toLocaleString("en-US"),
    consumer.lagMs === null ? "-" : duration(consumer.lagMs),
    stateText(consumer, style),
  ]);
  return table(["CONSUMER", "VIEW", "POSITION#", "END#", "WINDOWS#", "ROWS#", "LAG#", "STATE"], rows, style);
}

function stateText(consumer: ConsumerStatus, style: Style): string {
  if (consumer.reset) return style.yellow("must take the state");
  return consumer.held ? style.green("held") : style.yellow("lags too far to be held");
}
