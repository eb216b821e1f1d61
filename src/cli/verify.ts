/** `verify`: compares views with their definitions. */
import type { Command } from "commander";
import type { VerifyResult } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { EXIT } from "./exit.js";
import { withLake } from "./lake.js";
import { progressListener } from "./progress-events.js";
import { addSelection, chosenViews, type SelectionOptions } from "./selection.js";
import type { Style } from "./style.js";

export function registerVerify(program: Command, context: CliContext): void {
  const verify = program
    .command("verify")
    .description("recompute views at the snapshot they stand at and compare, row for row")
    .argument("[view...]", "the views; all where none is named");
  addSelection(verify)
    .addHelpText("after", "\nExample:\n  ducklake-ivm verify --select +daily_sales")
    .action((views: string[], options: SelectionOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const results = await withLake(session, async (lake) => {
          const chosen = await chosenViews(lake, views, options);
          const onProgress = progressListener(await session.progress(), "verify");
          return lake.verify({
            signal: session.stopSignal(),
            onProgress,
            ...(chosen === undefined ? {} : { views: chosen }),
          });
        });
        const ok = results.every((result) => result.ok);
        return {
          json: { ok, views: results },
          lines: await verifyLines(results, session.style),
          exitCode: ok ? EXIT.ok : EXIT.failed,
        };
      }),
    );
}

async function verifyLines(results: readonly VerifyResult[], style: Style): Promise<string[]> {
  if (results.length === 0) {
    return ["No view is applied."];
  }
  const { errorLines, orDash, table } = await import("./format.js");
  const rows = results.map((result) => [
    result.view,
    resultText(result, style),
    orDash(result.horizon),
    result.rows.toLocaleString("en-US"),
    result.differenceCount.toLocaleString("en-US"),
  ]);
  const lines = table(["VIEW", "RESULT", "SNAPSHOT#", "ROWS#", "DIFFERENCES#"], rows, style);
  for (const result of results) {
    if (result.error !== null) {
      lines.push("", ...errorLines(result.view, result.error, style));
    }
    if (result.differences.length > 0) {
      lines.push("", ...differenceLines(result, style));
    }
  }
  return lines;
}

function resultText(result: VerifyResult, style: Style): string {
  if (result.error !== null) {
    return style.red("failed");
  }
  return result.ok ? style.green("exact") : style.red("differs");
}

function differenceLines(result: VerifyResult, style: Style): string[] {
  const shown = BigInt(result.differences.length);
  const more = result.differenceCount > shown ? `, the first ${shown} of ${result.differenceCount}` : "";
  return [
    `${style.bold(result.view)}: + the view has copies too many, - copies are missing${more}`,
    ...result.differences.map(({ weight, row }) => {
      const values = Object.entries(row).map(([column, value]) => `${column}=${value ?? "NULL"}`);
      const sign = weight > 0n ? style.red(`+${weight}`) : style.red(`${weight}`);
      return `  ${sign}  ${values.join("  ")}`;
    }),
  ];
}
