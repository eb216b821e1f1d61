/**
 * Pages whose code blocks are run as they stand. The words after a block's language say what it is:
 *
 *   sh                        run in the page's folder; it must succeed
 *   text output               what the command before it prints; `…` stands for what differs from run to run
 *   sql                       run by DuckDB with its DuckLake extension, and nothing of this project
 *   ts run                    a program
 *   <language> <path>         a file of that path
 *   <language> shown          not run; only for what needs what a test has not
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import ts from "typescript";
import { expect } from "vitest";
import { processOptions } from "../cli/command.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Block {
  readonly language: string;
  readonly words: string;
  readonly text: string;
  readonly line: number;
}

/** The blocks of a page, or of its part under a heading. */
export function blocksOf(page: string, heading?: string): Block[] {
  const start = heading === undefined ? 0 : page.indexOf(`\n## ${heading}\n`);
  if (start < 0) throw new Error(`the page has no part ${heading}`);
  const end = heading === undefined ? -1 : page.indexOf("\n## ", start + 1);
  const part = page.slice(start, end < 0 ? undefined : end);
  return [...part.matchAll(/^```(\S*) ?([^\n]*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1] ?? "",
    words: match[2] ?? "",
    text: match[3] ?? "",
    line: page.slice(0, start + match.index).split("\n").length,
  }));
}

export async function readPage(name: string): Promise<string> {
  return readFile(join(ROOT, name), "utf8");
}

/** A folder in which a page's blocks are run, one after another. */
export class PageFolder {
  private output = "";

  /** @param path put before PATH: where the page's commands are. */
  constructor(
    readonly folder: string,
    private readonly path: string,
  ) {}

  async run(page: string, blocks: readonly Block[]): Promise<void> {
    for (const block of blocks) {
      const place = `${page}:${block.line}`;
      const { language, words, text } = block;
      if (words === "shown") continue;
      if (words === "output") {
        expect(this.output, place).toMatch(patternOf(text));
      } else if (words === "run" && language === "ts") {
        await this.program(place, text);
      } else if (words !== "") {
        await mkdir(dirname(join(this.folder, words)), { recursive: true });
        await writeFile(join(this.folder, words), text);
      } else if (language === "sh") {
        await this.execute(place, "sh", ["-e", "-c", text]);
      } else if (language === "sql") {
        await this.execute(place, process.execPath, [join(ROOT, "test/docs/plain-duckdb.mjs"), text]);
      } else {
        throw new Error(`${place}: a block says what it is: see test/docs/page.ts`);
      }
    }
  }

  private async program(place: string, source: string): Promise<void> {
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: { module: ts.ModuleKind.ES2022, target: ts.ScriptTarget.ES2022 },
    });
    const file = join(this.folder, `program-${place.replace(/\W+/g, "-")}.mjs`);
    await writeFile(file, outputText);
    await this.execute(place, process.execPath, [file]);
  }

  private async execute(place: string, command: string, words: readonly string[]): Promise<void> {
    const env = { PATH: `${this.path}:${process.env["PATH"]}` };
    const result = await execa(command, words, processOptions({ cwd: this.folder, env }));
    expect(result.exitCode, `${place}\n${result.stdout}\n${result.stderr}`).toBe(0);
    this.output = result.stdout;
  }
}

/** A text in which `…` stands for anything within a line, and runs of spaces for each other. */
function patternOf(text: string): RegExp {
  const literal = (part: string): string => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const parts = text
    .trim()
    .split("…")
    .map((part) => literal(part).replaceAll(/ +/g, " +"));
  return new RegExp(`^\\s*${parts.join("[^\\n]*")}\\s*$`);
}
