/** Markdown without what its formatter adds to tables: cells as narrow as they can be. */
export function unpadded(markdown: string): string {
  return markdown
    .split("\n")
    .map((line) => (line.startsWith("|") ? line.replaceAll(/ *\| */g, "|").replaceAll(/-{2,}/g, "--") : line))
    .join("\n")
    .trim();
}
