/** Checks a mapping against a zod schema and tells problems by their place in the file. */
import type { z } from "zod";
import { closest } from "../suggest.js";
import type { Problem, Problems } from "./problems.js";
import type { LocatedYaml, YamlPath } from "./yaml.js";

export interface ShapeHelp {
  /** What to write for a key, by its dotted path; shown as the hint of a problem with that key. */
  readonly keys: Readonly<Record<string, string>>;
  /** Hints for keys that are not known but often expected, by their last name. */
  readonly unknownKeys?: Readonly<Record<string, string>>;
}

/** The value in the schema's shape; undefined where it does not fit, the reasons being added to `problems`. */
export function checkShape<T>(
  yaml: LocatedYaml,
  schema: z.ZodType<T>,
  help: ShapeHelp,
  problems: Problems,
): T | undefined {
  const result = schema.safeParse(yaml.value);
  if (result.success) {
    return result.data;
  }
  for (const issue of result.error.issues) {
    const path = issue.path.filter((part) => typeof part !== "symbol");
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) {
        problems.add(unknownKey(yaml, [...path, key], help));
      }
      continue;
    }
    if (yaml.isFaulty(path)) {
      continue;
    }
    const name = dotted(path);
    problems.add({
      code: issue.message === REQUIRED ? "key_missing" : "value_invalid",
      message: name === "" ? issue.message : `${name} ${issue.message}`,
      ...optionalHint(help.keys[withoutIndexes(path)]),
      ...yaml.valuePlace(path),
    });
  }
  return undefined;
}

export const REQUIRED = "is missing";

/** The message for a value of a wrong type; a value that was left out is told apart. */
export function expected(what: string): (issue: { readonly input?: unknown }) => string {
  return (issue) => {
    if (issue.input === undefined) {
      return REQUIRED;
    }
    return issue.input === null ? `has no value, but must be ${what}` : `must be ${what}, not ${kindOf(issue.input)}`;
  };
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) {
    return "a list";
  }
  switch (typeof value) {
    case "object":
      return "a mapping";
    case "string":
      return "text";
    case "boolean":
      return "true or false";
    default:
      return `a ${typeof value}`;
  }
}

function unknownKey(yaml: LocatedYaml, path: YamlPath, help: ShapeHelp): Problem {
  const key = String(path.at(-1));
  const section = withoutIndexes(path.slice(0, -1));
  const known = Object.keys(help.keys);
  const siblings = known.filter((name) => parentOf(name) === section).map(lastOf);
  const elsewhere = known.find((name) => lastOf(name) === key);
  const similar = closest(key, siblings);
  const similarElsewhere = closest(key, known.map(lastOf));
  const where = section === "" ? "" : ` in "${section}"`;
  let hint = `Known keys${where}: ${siblings.join(", ")}.`;
  const expectedKey = help.unknownKeys?.[key.toLowerCase()];
  if (expectedKey !== undefined) {
    hint = expectedKey;
  } else if (similar !== undefined) {
    hint = `Did you mean "${similar}"?`;
  } else if (elsewhere !== undefined) {
    hint = `It belongs ${belonging(elsewhere)}.`;
  } else if (similarElsewhere !== undefined) {
    const full = known.find((name) => lastOf(name) === similarElsewhere) as string;
    hint = `Did you mean "${similarElsewhere}" ${belonging(full)}?`;
  }
  return { code: "key_unknown", message: `unknown key "${key}"${where}`, hint, ...yaml.keyPlace(path) };
}

function belonging(name: string): string {
  const parent = parentOf(name);
  return parent === "" ? "at the top level" : `under "${parent}"`;
}

function parentOf(name: string): string {
  return name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : "";
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

function dotted(path: YamlPath): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part + 1}]` : `.${part}`))
    .join("")
    .replace(/^\./, "");
}

function withoutIndexes(path: YamlPath): string {
  return path.filter((part) => typeof part === "string").join(".");
}

function optionalHint(hint: string | undefined): { hint?: string } {
  return hint === undefined ? {} : { hint };
}
