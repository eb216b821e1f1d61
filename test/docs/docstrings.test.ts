/** The API reference is made of docstrings, so nothing that the package exports may be without one. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ENTRIES = ["src/index.ts", "src/builder/index.ts"];

function undocumented(): string[] {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, ROOT);
  const files = ENTRIES.map((entry) => join(ROOT, entry));
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  const documented = (symbol: ts.Symbol): boolean => symbol.getDocumentationComment(checker).length > 0;
  return files.flatMap((file) => {
    const source = program.getSourceFile(file);
    const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${file} is no module`);
    return checker.getExportsOfModule(module).flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const methods = [...(symbol.members?.values() ?? [])].filter(
        (member) =>
          member.flags & ts.SymbolFlags.Method &&
          !member.name.startsWith("__") &&
          member.declarations?.every((declaration) => {
            const modifiers = ts.getCombinedModifierFlags(declaration);
            return (modifiers & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) === 0;
          }),
      );
      return [
        ...(documented(symbol) ? [] : [exported.name]),
        ...methods.filter((method) => !documented(method)).map((method) => `${exported.name}.${method.name}`),
      ];
    });
  });
}

test("everything that the package exports has a docstring", () => {
  expect(undocumented()).toEqual([]);
});
