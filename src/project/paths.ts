/** Which values of the configuration are paths, and what they are relative to. */
import { resolve } from "node:path";

/** A value that can't be used, and what to write instead. */
interface Refusal {
  readonly message: string;
  readonly hint: string;
}

export type Resolved = { readonly value: string } | { readonly refusal: Refusal };

const DUCKLAKE = "ducklake:";
// Two letters at least, so that the drive letter of a Windows path is not taken for a kind.
const KIND = /^([A-Za-z][A-Za-z0-9_+.-]+):/;
const URL_SCHEME = /^[A-Za-z][A-Za-z0-9_+.-]+:\/\//;
const FILE_KINDS = ["sqlite", "duckdb"];
const CATALOG_HINT =
  'A catalog is a DuckDB file ("lake.ducklake"), "sqlite:FILE" or "postgres:dbname=… host=…", with or without "ducklake:" before it.';

/** A catalog with its file, where it is one, made absolute; other catalogs stay as they are. */
export function resolveCatalog(catalog: string, base: string): Resolved {
  const prefix = catalog.toLowerCase().startsWith(DUCKLAKE) ? catalog.slice(0, DUCKLAKE.length) : "";
  const rest = catalog.slice(prefix.length);
  const kind = KIND.exec(rest)?.[1];
  if (kind === undefined) {
    if (rest === "" || rest.startsWith(":memory:")) {
      return { refusal: { message: "names no catalog that lasts", hint: CATALOG_HINT } };
    }
    return mapValue(resolvePath(rest, base), (path) => prefix + path);
  }
  if (FILE_KINDS.includes(kind.toLowerCase())) {
    const file = rest.slice(kind.length + 1);
    if (file === "" || file.startsWith(":memory:")) {
      return { refusal: { message: "names no catalog that lasts", hint: CATALOG_HINT } };
    }
    return mapValue(resolvePath(file, base), (path) => `${prefix}${kind}:${path}`);
  }
  if (kind.toLowerCase() === "postgres" && !URL_SCHEME.test(rest)) {
    return { value: catalog };
  }
  if (/^postgres(ql)?$/i.test(kind)) {
    const message = `begins with "${kind}:", which is not a kind of catalog`;
    return { refusal: { message, hint: 'Put "postgres:" before the address: "postgres:postgresql://host/dbname".' } };
  }
  return { refusal: { message: `is of the kind "${kind}", which can't be used`, hint: CATALOG_HINT } };
}

/** A folder, made absolute, or a URL such as `s3://bucket/prefix`, as it is. */
export function resolveLocation(location: string, base: string): Resolved {
  return URL_SCHEME.test(location) ? { value: location } : resolvePath(location, base);
}

/** A path of this machine, made absolute. */
export function resolvePath(path: string, base: string): Resolved {
  if (path === "~" || path.startsWith("~/")) {
    // Taken literally it would make a folder named "~".
    return { refusal: { message: 'begins with "~", which is not replaced here', hint: `Write \${HOME} instead.` } };
  }
  return { value: resolve(base, path) };
}

function mapValue(resolved: Resolved, change: (value: string) => string): Resolved {
  return "value" in resolved ? { value: change(resolved.value) } : resolved;
}
