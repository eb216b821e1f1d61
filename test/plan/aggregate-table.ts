import { type AggregateClass, aggregateClasses } from "../../src/plan/aggregate-classes.js";

const ORDER: readonly AggregateClass[] = ["folded", "extended", "reread", "window"];

/** The table of aggregates in the documentation: a row for each class and note. */
export function aggregateTable(): string[] {
  const rows = ORDER.flatMap((kind) => {
    const entries = aggregateClasses().filter((entry) => entry.class === kind);
    const notes = [...new Set(entries.map((entry) => entry.note))];
    return notes.map((note) => {
      const names = entries.filter((entry) => entry.note === note).map((entry) => `\`${entry.name}\``);
      return [kind, names.join(", "), note];
    });
  });
  return rows.map((cells) => cells.join(" | "));
}
