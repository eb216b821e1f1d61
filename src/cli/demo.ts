/** `demo`: a year of real flights, from the download to the proof. */
import { type Command, InvalidArgumentError } from "commander";
import type { CliContext, Outcome } from "./context.js";
import { EXIT } from "./exit.js";

interface CommandOptions {
  readonly months: number;
  readonly dir?: string;
  readonly keep?: boolean;
}

export function registerDemo(program: Command, context: CliContext): void {
  program
    .command("demo")
    .description("show it on a year of real flights: needs no project, only Python's pip to fetch the data once")
    .option("--months <n>", "how many months of the year to load, 1 to 12", parseMonths, 12)
    .option("--dir <folder>", "build the lake in this new or empty folder instead of a temporary one")
    .option("--keep", "leave the lake there at the end, as a project to try the other commands on")
    .addHelpText("after", "\nExample:\n  ducklake-ivm demo --months 3 --dir flights --keep")
    .action((options: CommandOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const { runDemo } = await import("../demo/run.js");
        const result = await runDemo({
          months: options.months,
          keep: options.keep === true,
          style: session.style,
          say: (line) => session.say(line),
          signal: session.stopSignal(),
          ...(options.dir === undefined ? {} : { folder: options.dir }),
        });
        return { json: result, exitCode: result.ok ? EXIT.ok : EXIT.failed };
      }),
    );
}

function parseMonths(text: string): number {
  const months = /^\d+$/.test(text) ? Number(text) : 0;
  if (months < 1 || months > 12) throw new InvalidArgumentError("It is a whole number from 1 to 12.");
  return months;
}
