/** `why`: from a row of a view to what made it. */
import type { Command } from "commander";
import { ConfigError } from "../errors.js";
import type { TextRow, WhyChange, WhyResult, WhySource } from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import { countOption } from "./options.js";
import { type KeyOption, keyOption } from "./rows.js";
import type { Style } from "./style.js";

interface CommandOptions {
  readonly key?: readonly KeyOption[];
  readonly limit: number;
}

export function registerWhy(program: Command, context: CliContext): void {
  program
    .command("why")
    .description("show the source rows behind rows of a view, and the snapshots and runs that made or changed them")
    .argument("<view>", "the view")
    .addOption(keyOption())
    .addOption(
      countOption("--limit <n>", "list up to so many rows, source rows and changes of each source").default(20),
    )
    .addHelpText("after", "\nExample:\n  ducklake-ivm why daily_sales --key day=2024-05-01,shop=3")
    .action((view: string, { key = [], limit }: CommandOptions, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const result = await withLake(session, (lake) => lake.why(view, { key: oneKey(key), limit }));
        return { json: result, lines: await whyLines(result, session.style) };
      }),
    );
}

/** Columns of one key may stand in several options. */
function oneKey(keys: readonly KeyOption[]): KeyOption {
  if (keys.length > 0) return Object.assign({}, ...keys) as KeyOption;
  throw new ConfigError("key_missing", "Which rows of the view? No --key was given.", {
    hint: 'For example --key "customer=Ada", with any columns of the view.',
  });
}

export async function whyLines(result: WhyResult, style: Style): Promise<string[]> {
  const { view, horizon, rows, rowCount, note } = result;
  const head = `${style.bold(view)} at snapshot ${horizon ?? "-"}: ${await counted(rowCount, "row")}`;
  const sources: string[] = [];
  for (const source of result.sources) sources.push("", ...(await sourceLines(source, style)));
  return [
    head,
    ...(await rowLines(rows, rowCount, style)),
    ...(note === null ? [] : ["", style.yellow(note)]),
    ...sources,
  ];
}

async function counted(value: bigint, noun: string): Promise<string> {
  const { count } = await import("./format.js");
  return count(value, noun);
}

async function rowLines(rows: readonly TextRow[], rowCount: bigint, style: Style): Promise<string[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const { table } = await import("./format.js");
  const names = Object.keys(first);
  const left = rowCount - BigInt(rows.length);
  return [
    ...table(
      names,
      rows.map((row) => names.map((name) => row[name] ?? "NULL")),
      style,
    ).map((line) => `  ${line}`),
    ...(left > 0n ? [style.dim(`  … and ${left.toLocaleString("en-US")} more`)] : []),
  ];
}

const TRACED = {
  rows: "behind them",
  candidates: "that may be behind them",
  none: "",
} as const;

async function sourceLines(source: WhySource, style: Style): Promise<string[]> {
  const { source: name, alias, kind, snapshot, traced, note, rows, rowCount, changes } = source;
  const title = alias === name ? name : `${name} AS ${alias}`;
  const what = kind === "view" ? "view" : "table";
  if (traced === "none") return [`${style.bold(title)} (${what}): ${note ?? "not traced"}`];
  return [
    `${style.bold(title)} (${what} at snapshot ${snapshot}): ${await counted(rowCount, "row")} ${TRACED[traced]}`,
    ...(note === null ? [] : [style.yellow(`  ${note}`)]),
    ...(await rowLines(rows, rowCount, style)),
    ...(changes.length === 0 ? [] : [`  changes, newest first`, ...changes.map((change) => changeLine(change, style))]),
  ];
}

function changeLine({ snapshot, at, change, row, run }: WhyChange, style: Style): string {
  const sign = change === "inserted" ? style.green("+") : style.red("−");
  const values = Object.entries(row).map(([name, value]) => `${name}=${value ?? "NULL"}`);
  const applied = run === null ? "by a run that is not recorded" : `by run ${run.runId} (${run.strategy ?? "failed"})`;
  return `  ${sign} snapshot ${snapshot} ${at}  ${values.join(", ")}  ${style.dim(applied)}`;
}
