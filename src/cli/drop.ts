/** `drop`: takes a view out of the lake. */
import type { Command } from "commander";
import { ConfigError } from "../errors.js";
import type { DropResult } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";
import { dryRunOption } from "./options.js";

interface DropCommandOptions {
  readonly cascade?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

const EXAMPLES = `
Examples:
  ducklake-ivm drop old_sales
  ducklake-ivm drop old_sales --cascade --yes`;

export function registerDrop(program: Command, context: CliContext): void {
  program
    .command("drop")
    .description("drop a view with its tables and its change log; tables that it reads are left alone")
    .argument("<view>", "the view")
    .option("--cascade", "drop the views that read it as well, and the consumers of its change log")
    .option("--yes", "do not ask")
    .addOption(dryRunOption())
    .addHelpText("after", EXAMPLES)
    .action((view: string, options: DropCommandOptions, command: Command) =>
      context.run(command, (session) => drop(session, view, options)),
    );
}

async function drop(session: Session, view: string, options: DropCommandOptions): Promise<Outcome> {
  const { cascade = false, dryRun = false, yes = false } = options;
  const outcome = await withLake(session, async (lake, project) => {
    const planned = await lake.drop(view, { cascade, dryRun: true });
    if (dryRun || !(yes || (await isConfirmed(planned)))) return { result: planned, files: [] };
    const result = await lake.drop(view, { cascade });
    const files = project.views.filter(({ name }) => result.dropped.includes(name)).map(({ file }) => file ?? "");
    return { result, files };
  });
  const { result, files } = outcome;
  const verb = result.dryRun ? "would be dropped" : "dropped";
  const lines = [
    ...result.dropped.map((name) => `${name}: ${verb}`),
    ...result.consumers.map((name) => `consumer ${name}: ${verb}`),
    ...files.map((file) => `The next apply makes it again from ${file}.`),
  ];
  return { json: result, lines };
}

/** @throws ConfigError `not_confirmed` where there is nobody to ask. */
async function isConfirmed({ dropped, consumers }: DropResult): Promise<boolean> {
  const what = [...dropped, ...consumers.map((name) => `consumer ${name}`)].join(", ");
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new ConfigError("not_confirmed", `Nobody can be asked whether to drop ${what}.`, { hint: "Give --yes." });
  }
  const { createInterface } = await import("node:readline/promises");
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await prompt.question(`Drop ${what}? [y/N] `)).trim());
  } finally {
    prompt.close();
  }
}
