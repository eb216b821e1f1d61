import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

test("the builder's types tell columns, aliases and values", () => {
  const root = join(import.meta.dirname, "../..");
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const program = ts.createProgram([join(import.meta.dirname, "types.ts")], options);
  const found = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1;
    return `${file?.fileName}:${line} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
  expect(found).toEqual([]);
});
