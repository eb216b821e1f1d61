/** Preloaded with `--import`: prints the name of every package that is imported, on stderr. */
import { register } from "node:module";

const hooks = `
import { writeSync } from "node:fs";
export async function resolve(specifier, context, next) {
  if (/^[@a-z]/i.test(specifier) && !/^(node|file|data):/.test(specifier)) {
    writeSync(2, specifier + "\\n");
  }
  return next(specifier, context);
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
