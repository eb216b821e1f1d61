/** What differs from run to run in what a command prints, so that the rest can be compared with a file. */

/** Fields of JSON whose values differ from run to run. */
const VOLATILE_FIELDS = /^(?:ms|\w+_ms|\w+_at|bytes|free_bytes|run_id|as_of)$/;

const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uuid>"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::\d\d)?)?/g, "<time>"],
  [/\b\d+(?:\.\d+)? (?:ms|s|min|h)\b/g, "<duration>"],
  [/\b\d+(?:\.\d+)? (?:B|KiB|MiB|GiB)\b/g, "<size>"],
  [/\bv?\d+\.\d+\.\d+(?:-[\w.]+)?\b/g, "<version>"],
  [/\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8}\b/g, "<commit>"],
];

/**
 * Puts names in the place of volatile parts: uuids, times, durations, sizes, versions, and the project's folder. Columns
 * of text are two spaces apart, since their width comes from what is in them.
 */
export function normaliseText(text: string, folder: string): string {
  const named = REPLACEMENTS.reduce((result, [pattern, name]) => result.replaceAll(pattern, name), text);
  return named.replaceAll(folder, "<project>").replaceAll(/(?<=\S) {2,}/g, "  ");
}

/** The same for a line of JSON, which is laid out to be read; fields that are volatile as a whole have their type. */
export function normaliseJson(line: string, folder: string): string {
  const replacer = (name: string, value: unknown): unknown => {
    // Which of the strategies looks cheaper depends on how fast the machine is.
    if (name === "cost" && value !== null) return "<cost>";
    if (VOLATILE_FIELDS.test(name) && value !== null && typeof value !== "object") return `<${typeof value}>`;
    return typeof value === "string" ? normaliseText(value, folder) : value;
  };
  return JSON.stringify(JSON.parse(line), replacer, 2);
}
