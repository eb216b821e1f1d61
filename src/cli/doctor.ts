/** `doctor`: whether everything is there that the upkeep of the lake rests on. */
import type { Command } from "commander";
import type { DoctorResult } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { EXIT } from "./exit.js";
import { readProject } from "./lake.js";
import type { Style } from "./style.js";

export function registerDoctor(program: Command, context: CliContext): void {
  program
    .command("doctor")
    .description("check versions, catalog, storage, rights, clocks, state and retention, with a remedy for each fault")
    .addHelpText("after", "\nExample:\n  ducklake-ivm doctor")
    .action((_options: object, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const project = await readProject(session);
        const { diagnose } = await import("../index.js");
        const result = await diagnose({ ...project.lake, ...session.lakeOptions });
        return {
          json: result,
          lines: doctorLines(result, session.style),
          exitCode: result.ok ? EXIT.ok : EXIT.failed,
        };
      }),
    );
}

function doctorLines(result: DoctorResult, style: Style): string[] {
  const paint = { ok: style.green, warning: style.yellow, error: style.red, skipped: style.dim };
  return result.checks.flatMap(({ name, status, message, remedy }) => [
    `${paint[status](status.padEnd(7))} ${style.bold(name)}: ${message}`,
    ...(remedy === null ? [] : [`        ${style.yellow("remedy:")} ${remedy}`]),
  ]);
}
