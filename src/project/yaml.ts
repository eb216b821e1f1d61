/** YAML as this project reads it: one mapping, every value with its place, every fault a problem with its place. */
import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, parseDocument, type YAMLError } from "yaml";
import { type Environment, expandEnvironment } from "./environment.js";
import { lineAndColumn, type Problems } from "./problems.js";

/** The part of a file that holds YAML. */
export interface YamlText {
  readonly file: string;
  readonly text: string;
  /** Where the YAML begins and ends in the text; the whole text where left out. */
  readonly start?: number;
  readonly end?: number;
}

export type YamlPath = readonly (string | number)[];

/** A mapping that was read, with the place of everything in it. */
export interface LocatedYaml {
  readonly value: Readonly<Record<string, unknown>>;
  /** The place of a key, or of an element's value; of the nearest thing around it where the path leads nowhere. */
  keyPlace(path: YamlPath): Place;
  valuePlace(path: YamlPath): Place;
  /** Whether a problem with this value was told already. */
  isFaulty(path: YamlPath): boolean;
}

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

interface Position {
  readonly key: number;
  readonly value: number;
}

export interface YamlOptions {
  /** Replace `${NAME}` in text from here; text stays as it is where left out. */
  readonly env?: Environment;
  /** What the mapping holds, for the messages: "the configuration", "the header". */
  readonly what: string;
  /** What to do where there is no mapping. */
  readonly emptyHint: string;
}

/** Reads one mapping; undefined where there is none. All that is wrong is added to `problems`. */
export function readYaml(source: YamlText, options: YamlOptions, problems: Problems): LocatedYaml | undefined {
  const start = source.start ?? 0;
  const place = (offset: number): Place => ({
    file: source.file,
    ...lineAndColumn(source.text, start + offset),
  });
  const fault = (offset: number, code: string, message: string, hint?: string): void => {
    problems.add({ code, message, ...(hint === undefined ? {} : { hint }), ...place(offset) });
  };

  const document = parseDocument(source.text.slice(start, source.end), { prettyErrors: false, strict: true });
  const failures: readonly YAMLError[] = [...document.errors, ...document.warnings];
  for (const failure of failures) {
    const { code, message, hint } = describeFailure(failure);
    fault(failure.pos[0], code, message, hint);
  }
  if (failures.length > 0) {
    return undefined;
  }

  const root = document.contents;
  const isEmpty = root === null || (isScalar(root) && root.value === null);
  if (isEmpty || !isMap(root)) {
    const message = isEmpty ? `${options.what} is empty` : `${options.what} must be a mapping of keys to values`;
    fault(isEmpty ? 0 : offsetOf(root), "yaml_not_a_mapping", message, options.emptyHint);
    return undefined;
  }

  const positions = new Map<string, Position>();
  const faulty = new Set<string>();

  function read(node: Node | null | undefined, path: YamlPath, keyOffset: number): unknown {
    const offset = node?.range?.[0] ?? keyOffset;
    positions.set(pathKey(path), { key: keyOffset, value: offset });
    if (isMap(node)) {
      return Object.fromEntries(node.items.flatMap((item) => readPair(item as Pair<Node, Node | null>, path)));
    }
    if (isSeq(node)) {
      return node.items.map((item, index) => read(item as Node, [...path, index], offsetOf(item as Node)));
    }
    if (isAlias(node)) {
      faulty.add(pathKey(path));
      fault(offset, "yaml_alias", `alias *${node.source} is not followed here`, "Write the value out.");
      return undefined;
    }
    const value = isScalar(node) ? node.value : undefined;
    return typeof value === "string" && options.env !== undefined ? expand(value, path, offset, options.env) : value;
  }

  function readPair(pair: Pair<Node, Node | null>, path: YamlPath): [string, unknown][] {
    const offset = offsetOf(pair.key);
    if (!isScalar(pair.key) || pair.key.value === null) {
      fault(offset, "yaml_key", "a key must be plain text");
      return [];
    }
    const key = String(pair.key.value);
    return [[key, read(pair.value, [...path, key], offset)]];
  }

  function expand(text: string, path: YamlPath, offset: number, env: Environment): string {
    const expansion = expandEnvironment(text, env);
    if (expansion.unset.length + expansion.malformed.length > 0) {
      faulty.add(pathKey(path));
    }
    for (const name of expansion.unset) {
      const hint = `Set ${name}, or write $\${${name}} where the characters themselves are meant.`;
      fault(offset, "env_unset", `environment variable ${name} is not set`, hint);
    }
    for (const reference of expansion.malformed) {
      const hint = `Write \${NAME}, or $\${ where the characters themselves are meant.`;
      fault(offset, "env_reference", `"${reference}" is not a reference to an environment variable`, hint);
    }
    return expansion.value;
  }

  const value = read(root, [], offsetOf(root)) as Record<string, unknown>;

  function position(path: YamlPath): Position {
    for (let length = path.length; length > 0; length--) {
      const found = positions.get(pathKey(path.slice(0, length)));
      if (found !== undefined) {
        // What is missing from a mapping is told at the mapping's key; one value in place of a list, at the value.
        const atValue = length === path.length || typeof path[length] === "number";
        return atValue ? found : { ...found, value: found.key };
      }
    }
    return { key: 0, value: 0 };
  }
  return {
    value,
    keyPlace: (path) => place(position(path).key),
    valuePlace: (path) => place(position(path).value),
    isFaulty: (path) => faulty.has(pathKey(path)),
  };
}

function offsetOf(node: Node | null | undefined): number {
  return node?.range?.[0] ?? 0;
}

function pathKey(path: YamlPath): string {
  return JSON.stringify(path);
}

/** The parser's message, put so that the reader knows what to do. */
function describeFailure(failure: YAMLError): { code: string; message: string; hint?: string } {
  switch (failure.code) {
    case "DUPLICATE_KEY":
      return { code: "yaml_duplicate_key", message: "this key was given before", hint: "Keep one of the two." };
    case "TAB_AS_INDENT":
      return { code: "yaml_syntax", message: "a tab is used as indentation", hint: "Indent with spaces." };
    case "MULTIPLE_DOCS":
      return {
        code: "yaml_syntax",
        message: "a second YAML document begins here",
        hint: "Keep one document, without ---.",
      };
    case "TAG_RESOLVE_FAILED":
      return { code: "yaml_syntax", message: failure.message, hint: "Put quotes around the value." };
    default:
      return { code: "yaml_syntax", message: `not valid YAML: ${failure.message}` };
  }
}
