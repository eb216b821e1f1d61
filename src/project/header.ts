/** The header of a view file: YAML in a first comment that is opened by `--- ` and closed by ` ---`. */
import { z } from "zod";
import type { FloatSums, RefreshMode } from "../types.js";
import { lineAndColumn, type Problems } from "./problems.js";
import { checkShape, expected, type ShapeHelp } from "./shape.js";
import { FLOAT_SUMS_HELP, floatSums, period, TARGET_LAG_HELP } from "./values.js";
import { readYaml } from "./yaml.js";

export interface Header {
  readonly primaryKey?: readonly string[];
  readonly refresh?: RefreshMode;
  readonly floatSums?: FloatSums;
  readonly tags?: readonly string[];
  readonly targetLagMs?: number;
}

// A longer row of dashes is an ornament of an ordinary comment, not a header.
const OPENING = /^\s*\/\*\s*---(?!-)/;
const CLOSING = /(?<!-)---\s*$/;

const column = z.string({ error: expected("a column's name") }).min(1, "is empty");
const primaryKey = z.preprocess(
  (value) => (typeof value === "string" ? [value] : value),
  z
    .array(column, { error: expected("a column's name or a list of them") })
    .min(1, "names no column")
    .refine((columns) => new Set(columns.map((name) => name.toLowerCase())).size === columns.length, {
      error: "names a column twice",
    }),
);

const tag = z
  .string({ error: expected("a tag") })
  .regex(/^[\p{L}\p{N}_.-]+$/u, "may have letters, digits, _, - and dots only");
const tags = z.preprocess(
  (value) => (typeof value === "string" ? [value] : value),
  z.array(tag, { error: expected("a tag or a list of them") }),
);

const schema = z.strictObject({
  primary_key: primaryKey.optional(),
  refresh: z.enum(["auto", "incremental", "full"], { error: "must be auto, incremental or full" }).optional(),
  float_sums: floatSums.optional(),
  tags: tags.optional(),
  target_lag: period.optional(),
});

const HELP: ShapeHelp = {
  keys: {
    primary_key: 'Write "primary_key: id" or "primary_key: [year, month]".',
    refresh: "auto decides at each refresh, incremental never recomputes to save cost, full always recomputes.",
    float_sums: FLOAT_SUMS_HELP,
    tags: 'Write "tags: daily" or "tags: [daily, finance]".',
    target_lag: TARGET_LAG_HELP,
  },
  unknownKeys: {
    name: "A view is named after its file.",
    view: "A view is named after its file.",
    schema: "The schema of all views is set in ducklake-ivm.yaml.",
  },
};

/** Reads the header that a view file may begin with; undefined where it is wrong. */
export function readHeader(file: string, text: string, problems: Problems): Header | undefined {
  const opening = OPENING.exec(text);
  if (opening === null) {
    return {};
  }
  const start = opening[0].length;
  const end = text.indexOf("*/", start);
  const closing = end === -1 ? null : CLOSING.exec(text.slice(start, end));
  if (closing === null) {
    problems.add({
      code: "header_open",
      message: 'the header that begins with "/* ---" is not closed by "--- */"',
      hint: 'Close it, or begin an ordinary comment with "--" or "/*" alone.',
      file,
      ...lineAndColumn(text, text.indexOf("/*")),
    });
    return undefined;
  }
  const options = {
    what: "the header",
    emptyHint:
      "It may have primary_key, refresh, float_sums, tags and target_lag; begin an ordinary comment without ---.",
  };
  const yaml = readYaml({ file, text, start, end: start + closing.index }, options, problems);
  const values = yaml === undefined ? undefined : checkShape(yaml, schema, HELP, problems);
  if (values === undefined) {
    return undefined;
  }
  return {
    ...(values.primary_key === undefined ? {} : { primaryKey: values.primary_key }),
    ...(values.refresh === undefined ? {} : { refresh: values.refresh }),
    ...(values.float_sums === undefined ? {} : { floatSums: values.float_sums }),
    ...(values.tags === undefined ? {} : { tags: values.tags }),
    ...(values.target_lag === undefined ? {} : { targetLagMs: values.target_lag }),
  };
}
