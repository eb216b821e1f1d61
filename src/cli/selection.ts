/** `--select` and `--exclude`, for commands that work on several views. */
import type { Command } from "commander";
import type { Lake } from "../index.js";

export interface SelectionOptions {
  readonly select?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

const SELECTORS = `
Selectors:
  sales         one view; * and ? stand for any characters and for one
  +sales        with all that it reads        sales+   with all that reads it
  tag:daily     views with a tag              orders+  views that read a table`;

/** Adds the two options to a command, with a word on what selectors are. */
export function addSelection(command: Command): Command {
  return command
    .option("--select <selector...>", "the views that selectors name, such as +sales or tag:daily")
    .option("--exclude <selector...>", "leave out the views that selectors name")
    .addHelpText("after", SELECTORS);
}

/** The views that were named or selected; undefined where all are meant. */
export async function chosenViews(
  lake: Lake,
  views: readonly string[],
  { select = [], exclude = [] }: SelectionOptions,
): Promise<readonly string[] | undefined> {
  if (select.length === 0 && exclude.length === 0) return views.length === 0 ? undefined : views;
  return lake.select({ select: [...views, ...select], exclude });
}
