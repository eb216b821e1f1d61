/** How values are written for a person. */
import Table from "cli-table3";
import type { ErrorResult, Reason } from "../types.js";
import type { Style } from "./style.js";

const NO_BORDERS = Object.fromEntries(
  ["top", "bottom", "left", "right", "mid"].flatMap((side) => {
    const parts =
      side === "left" || side === "right" || side === "mid" ? ["", "-mid"] : ["", "-mid", "-left", "-right"];
    return parts.map((part) => [`${side}${part}`, ""]);
  }),
);

/** A table without lines, as text lines. Columns whose title ends in `#` hold numbers and are aligned to the right. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[], style: Style): string[] {
  const lines = new Table({
    chars: { ...NO_BORDERS, "right-mid": "", "mid-mid": "", middle: "  " },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
    head: titles.map((title) => style.dim(title.replace(/#$/, ""))),
    colAligns: titles.map((title) => (title.endsWith("#") ? "right" : "left")),
  });
  lines.push(...rows.map((row) => [...row]));
  return lines
    .toString()
    .split("\n")
    .map((line) => line.trimEnd());
}

export function count(value: bigint | number, noun: string): string {
  return `${value.toLocaleString("en-US")} ${noun}${BigInt(value) === 1n ? "" : "s"}`;
}

export function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** A length of time of minutes and more. */
export function age(milliseconds: number): string {
  const minutes = milliseconds / 60_000;
  if (minutes < 1) return duration(milliseconds);
  if (minutes < 120) return `${Math.floor(minutes)} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} d`;
}

export function sizeText(bytes: bigint): string {
  const size = Number(bytes);
  if (size < 1024) return `${size} B`;
  return size < 1024 ** 2 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / 1024 ** 2).toFixed(1)} MiB`;
}

export function orDash(value: bigint | string | null | undefined): string {
  return value === null || value === undefined || value === "" ? "-" : value.toString();
}

export function reasonTexts(reasons: readonly Reason[]): string {
  return reasons.map((reason) => reason.text).join("; ");
}

export function errorLines(view: string, error: ErrorResult, style: Style): string[] {
  const hint = error.hint === null ? [] : [`  ${style.yellow("hint:")} ${error.hint}`];
  const message = error.message.includes(view) ? error.message : `${view}: ${error.message}`;
  return [`${style.red("error:")} ${message}`, ...hint];
}
