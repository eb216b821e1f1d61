/** `graph`: which view reads what. */
import { type Command, Option } from "commander";
import { toJson } from "../json.js";
import type { LakeGraph } from "../types.js";
import type { CliContext, Outcome, Session } from "./context.js";
import { withLake } from "./lake.js";

const FORMATS = ["text", "mermaid", "json"] as const;

interface CommandOptions {
  readonly format: (typeof FORMATS)[number];
}

export function registerGraph(program: Command, context: CliContext): void {
  program
    .command("graph")
    .description("show which view reads what, and how fresh all of it is")
    .addOption(
      new Option("--format <format>", "a tree, a mermaid flowchart, or the nodes and edges as JSON")
        .choices(FORMATS)
        .default("text"),
    )
    .addHelpText("after", "\nExample:\n  ducklake-ivm graph --format mermaid > graph.mmd")
    .action(({ format }: CommandOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const graph = await withLake(session, (lake) => lake.graph());
        return { json: graph, lines: await linesOf(graph, format, session) };
      }),
    );
}

async function linesOf(graph: LakeGraph, format: CommandOptions["format"], session: Session): Promise<string[]> {
  if (format === "json") return [JSON.stringify(toJson(graph))];
  const { mermaidLines, treeLines } = await import("./graph-lines.js");
  return format === "mermaid" ? mermaidLines(graph) : treeLines(graph, session.style);
}
