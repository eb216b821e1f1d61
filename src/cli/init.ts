/** `init`: a project to start from. */
import type { Command } from "commander";
import type { CliContext, Outcome } from "./context.js";

export function registerInit(program: Command, context: CliContext): void {
  program
    .command("init")
    .description("write a commented ducklake-ivm.yaml and an example view; nothing that exists is overwritten")
    .addHelpText("after", "\nExample:\n  ducklake-ivm init --project-dir warehouse")
    .action((_options: object, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const { writeProject } = await import("./init-files.js");
        const { files } = await writeProject(session.projectDirectory);
        const { style } = session;
        return {
          json: { files },
          lines: [
            ...files.map(({ file, created }) => (created ? `${style.green("created")}  ${file}` : `kept     ${file}`)),
            "",
            `Next: edit the files, then ${style.bold("ducklake-ivm plan")}.`,
          ],
        };
      }),
    );
}
