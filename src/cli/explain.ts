/** `explain`: how one view is kept. */
import type { Command } from "commander";
import type {
  CostEstimate,
  CostResult,
  ExplainAdvice,
  ExplainHistory,
  ExplainNode,
  ExplainRead,
  ExplainResult,
  ExplainTerm,
  MeasuredRuns,
} from "../types.js";
import type { CliContext, Outcome } from "./context.js";
import { withLake } from "./lake.js";
import type { Style } from "./style.js";

export function registerExplain(program: Command, context: CliContext): void {
  program
    .command("explain")
    .description("show a view's plan, each term with why it ran or was skipped, and the SQL")
    .argument("<view>", "the view")
    .addHelpText("after", "\nExample:\n  ducklake-ivm explain daily_sales")
    .action((view: string, _options: object, command: Command) =>
      context.run(command, async (session): Promise<Outcome> => {
        const result = await withLake(session, (lake) => lake.explain(view));
        return { json: result, lines: explainLines(result, session.style) };
      }),
    );
}

export function explainLines(result: ExplainResult, style: Style): string[] {
  const snapshot = result.horizon === null ? "not built yet" : `stands at snapshot ${result.horizon}`;
  return [
    `${style.bold(result.view)}: ${result.strategy}, ${snapshot}`,
    ...result.reasons.map((reason) => `  ${reason.text} (${reason.code})`),
    ...historyLines(result.history),
    ...(result.advice.length === 0
      ? []
      : ["", style.bold("what would cost less"), ...result.advice.flatMap((advice) => adviceLines(advice, style))]),
    ...(result.plan === null ? [] : ["", style.bold("plan"), ...treeLines(result.plan, style)]),
    ...(result.terms.length === 0
      ? []
      : ["", style.bold("terms"), ...result.terms.flatMap((term) => termLines(term, style))]),
    ...(result.rereads.length === 0
      ? []
      : ["", style.bold("groups that can't be folded"), ...readLines(result.rereads, "  ")]),
    ...(result.cost === null ? [] : ["", style.bold("cost"), ...costLines(result.cost)]),
    "",
    style.bold("recompute"),
    ...indented(result.recomputeSql, "  "),
  ];
}

function historyLines({ incremental, recompute, last }: ExplainHistory): string[] {
  if (last === null) return [];
  const { terms, rows } = last;
  const ran = terms.total === 0 ? "" : `, ${terms.run} of ${terms.total} terms ran`;
  const why = last.reason === null ? "" : `, because ${last.reason.text}`;
  return [
    `  last run: ${last.strategy} (${last.from ?? "start"}, ${last.to}]${ran}, +${rows.inserted} −${rows.deleted} rows${why}`,
    ...measuredLine("by rules", incremental),
    ...measuredLine("recomputed", recompute),
  ];
}

function measuredLine(name: string, measured: MeasuredRuns | null): string[] {
  if (measured === null) return [];
  const { runs, medianMs, slowestMs } = measured;
  return [
    `  ${name} in ${runs} ${runs === 1 ? "run" : "runs"}: median ${Math.round(medianMs)} ms, slowest ${Math.round(slowestMs)} ms`,
  ];
}

function adviceLines({ code, part, why, rewrite, page }: ExplainAdvice, style: Style): string[] {
  return [
    `  ${part}: ${why} ${style.dim(`(${code})`)}`,
    ...(rewrite === null ? [] : [`      → ${rewrite}`]),
    ...(page === null ? [] : [`      ${style.dim(page)}`]),
  ];
}

function costLines({ choice, trial, incremental, recompute, changedRows, rows }: CostResult): string[] {
  const line = (name: string, { ms, basis }: CostEstimate): string =>
    `  ${name.padEnd(11)}  about ${Math.round(ms)} ms, ${basis === "measured" ? "by earlier refreshes of this size" : "by row counts"}`;
  return [
    line("incremental", incremental),
    line("recompute", recompute),
    `  for ${changedRows} changed rows of ${rows}; a refresh takes ${choice}${trial ? ", to find out what it takes by now" : ""}`,
  ];
}

function treeLines(node: ExplainNode, style: Style, prefix = "  ", childPrefix = "  "): string[] {
  const detail = node.detail === "" ? "" : ` ${node.detail}`;
  const why = node.why === undefined ? "" : `: ${node.why}`;
  const lines = [`${prefix}${node.operator}${detail}  ${style.dim(`[${node.strategy}${why}]`)}`];
  node.children.forEach((child, index) => {
    const isLast = index === node.children.length - 1;
    lines.push(
      ...treeLines(child, style, `${childPrefix}${isLast ? "└─ " : "├─ "}`, `${childPrefix}${isLast ? "   " : "│  "}`),
    );
  });
  return lines;
}

function termLines(term: ExplainTerm, style: Style): string[] {
  const name = term.alias === term.source ? term.source : `${term.source} AS ${term.alias}`;
  const status = term.status === "ran" ? style.green(term.status) : style.dim(term.status);
  return [
    `  Δ ${name}  ${status}: ${term.reason}`,
    ...readLines(term.reads, "      "),
    ...(term.sql === null ? [] : indented(term.sql, "      ")),
  ];
}

/** How far keys are pushed into what is read. */
function readLines(reads: readonly ExplainRead[], indent: string): string[] {
  return reads.map(({ source, alias, state, keys }) => {
    const name = alias === source ? source : `${source} AS ${alias}`;
    const how = keys.length === 0 ? "no keys pushed" : `only rows whose ${keys.join(", ")} changed`;
    return `${indent}reads ${state} ${name}: ${how}`;
  });
}

function indented(text: string, indent: string): string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => indent + line);
}
