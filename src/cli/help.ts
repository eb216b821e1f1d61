/** `help`: what a command does and takes. */
import type { Command } from "commander";
import { ConfigError } from "../errors.js";
import { didYouMean } from "../suggest.js";
import type { CliContext, Outcome } from "./context.js";

export function registerHelp(program: Command, context: CliContext): void {
  program
    .command("help")
    .description("print help for a command")
    .argument("[command...]", "the command, such as refresh or consumer add; the program where none is named")
    .addHelpText("after", "\nExample:\n  ducklake-ivm help refresh")
    .action((names: string[], _options: object, command: Command) =>
      context.run(command, async (): Promise<Outcome> => {
        const help = helpOf(names.reduce(below, program));
        return { json: { help }, lines: [help] };
      }),
    );
}

/** @throws ConfigError `command_unknown`. */
function below(command: Command, name: string): Command {
  const found = command.commands.find((candidate) => candidate.name() === name);
  if (found !== undefined) return found;
  const known = command.commands.map((candidate) => candidate.name());
  throw new ConfigError("command_unknown", `unknown command '${name}'`, {
    hint: known.length === 0 ? `${command.name()} has no commands.` : didYouMean(name, known, "Commands"),
  });
}

function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return help.trimEnd();
}
