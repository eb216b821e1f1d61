/** The JSON schema of `ducklake-ivm.yaml`, made of the shape that the loader checks and what the documentation says. */
import { z } from "zod";
import { CONFIG_SHAPE } from "../../src/project/config.js";

interface Node {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Node>;
  required?: string[];
  anyOf?: Node[];
  pattern?: string;
  [key: string]: unknown;
}

/** `${NAME}`, in any value, is replaced by a variable of the environment before values are checked. */
const REFERENCE: Node = { type: "string", pattern: "\\$\\{" };

/** The rows of the table of keys in docs/configuration.md: the meaning of each. */
export function documentedKeys(page: string): Map<string, string> {
  const table = page.slice(page.indexOf("| key "), page.indexOf("\n\n", page.indexOf("| key ")));
  const rows = table.split("\n").slice(2);
  return new Map(
    rows.map((row) => {
      const [, key = "", , meaning = ""] = row.split(/ *\| */);
      return [key.replaceAll("`", ""), plain(meaning)];
    }),
  );
}

export function configSchema(documented: ReadonlyMap<string, string>): object {
  const schema = z.toJSONSchema(CONFIG_SHAPE, { io: "input", target: "draft-7" }) as Node;
  const properties = Object.entries(schema.properties ?? {}).map(([key, node]): [string, Node] => {
    if (node.properties === undefined) return [key, leaf(node, documented.get(key))];
    const inner = Object.entries(node.properties).map(([name, value]) => [
      name,
      leaf(value, documented.get(`${key}.${name}`)),
    ]);
    // A section all of whose keys are commented out is empty.
    const type = node.required === undefined ? ["object", "null"] : "object";
    return [key, { ...node, type, properties: Object.fromEntries(inner) as Record<string, Node> }];
  });
  return {
    ...schema,
    title: "ducklake-ivm.yaml",
    description: "A project of ducklake-ivm: a lake, and the views to keep in it.",
    properties: Object.fromEntries(properties),
    required: properties.filter(([, { required }]) => required !== undefined).map(([key]) => key),
  };
}

function leaf(node: Node, description: string | undefined): Node {
  const about = description === undefined ? {} : { description };
  const { default: preset, ...checked } = node;
  const also = preset === undefined ? {} : { default: preset };
  // Text of any kind may be a reference already.
  if (checked.type === "string" && checked.pattern === undefined && checked["enum"] === undefined)
    return { ...about, ...also, ...checked };
  return { ...about, ...also, anyOf: [...(checked.anyOf ?? [checked]), REFERENCE] };
}

function plain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}
