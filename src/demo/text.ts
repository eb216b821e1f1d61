/** Numbers, lists and tables as text for a terminal 100 columns wide. */

const WIDTH = 100;

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** The least width. */
  readonly width?: number;
}

export type Row = readonly string[];

/** The lines of a table: titles, a rule, and the rows; `"rule"` among the rows makes another rule. */
export function tableLines(columns: readonly Column[], rows: readonly (Row | "rule")[]): string[] {
  const cells = rows.filter((row) => row !== "rule");
  const widths = columns.map(({ title, width = 0 }, index) =>
    Math.max(title.length, width, ...cells.map((row) => (row[index] ?? "").length)),
  );
  const line = (row: Row) =>
    columns
      .map(({ align }, index) => {
        const cell = row[index] ?? "";
        const width = widths[index] ?? 0;
        return align === "right" ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [line(columns.map(({ title }) => title)), rule, ...rows.map((row) => (row === "rule" ? rule : line(row)))];
}

/** The parts, separated by commas, after a heading; lines that go on are indented under the first part. */
export function wrapList(heading: string, parts: readonly string[]): string[] {
  const lines: string[] = [];
  let line = heading;
  parts.forEach((part, index) => {
    const text = index < parts.length - 1 ? `${part}, ` : part;
    if (line.length > heading.length && line.length + text.length > WIDTH) {
      lines.push(line.trimEnd());
      line = " ".repeat(heading.length);
    }
    line += text;
  });
  return [...lines, line.trimEnd()];
}

export function count(value: number | bigint): string {
  return value.toLocaleString("en-US");
}

export function milliseconds(value: number | null): string {
  return value === null ? "" : `${count(Math.round(value))} ms`;
}

/** How many times longer the recompute takes; below 1 the refresh is the slower one. */
export function speedUp(refreshMs: number, recomputeMs: number | null): string {
  return recomputeMs === null || refreshMs <= 0 ? "" : `${(recomputeMs / refreshMs).toFixed(1)}x`;
}

/** A sum, written as a number. */
export function sum<Item>(items: readonly Item[], value: (item: Item) => number): string {
  return count(items.reduce((total, item) => total + value(item), 0));
}
