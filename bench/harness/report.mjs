/** What the programs of this folder say while they run, and how they end. */

const began = performance.now();

/** A line of progress, with the seconds since the start. It goes to stderr: stdout belongs to the result. */
export function say(text) {
  const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(8);
  process.stderr.write(`${seconds} s  ${text}\n`);
}

/** Broken promises; a program that found one ends with exit code 1. */
export class Findings {
  #found = [];

  add(text) {
    this.#found.push(text);
    say(`FINDING: ${text}`);
  }

  get count() {
    return this.#found.length;
  }

  /** Prints what was found, if anything, and sets the exit code. */
  close() {
    if (this.#found.length === 0) return;
    console.log(`\n${this.#found.length} promises were broken:`);
    for (const text of this.#found) console.log(`- ${text}`);
    process.exitCode = 1;
  }
}

/** Prints a table, as Markdown where asked for; the first line is the head. */
export function printTable(lines, markdown) {
  const texts = lines.map((cells) => cells.map((cell) => String(cell).replaceAll("|", "\\|")));
  const widths = texts[0].map((_, column) => Math.max(...texts.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells) => cells.map((cell, column) => cell.padEnd(widths[column])).join(markdown ? " | " : "  ");
  const rule = widths.map((width) => "-".repeat(width));
  const all = markdown ? [texts[0], rule, ...texts.slice(1)] : texts;
  for (const cells of all) console.log(markdown ? `| ${line(cells)} |` : line(cells).trimEnd());
}

export function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(numbers) {
  return quantile(numbers, 0.5);
}
