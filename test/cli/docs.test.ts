/** The documentation and the help of the command line, against its commands. Nothing is run. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import { createProgram } from "../../src/cli/program.js";
import { folder } from "../project/files.js";

const NO_CONTEXT = { run: async () => undefined };

interface Named {
  readonly name: string;
  readonly command: Command;
}

function commandsOf(command: Command, path = ""): Named[] {
  return command.commands.flatMap((below) => {
    const name = `${path}${below.name()}`;
    return [{ name, command: below }, ...commandsOf(below, `${name} `)];
  });
}

/** The options that a command has of its own, as they are written. */
function optionsOf(command: Command): string[] {
  return command.options.filter(({ hidden }) => !hidden).map((option) => option.long ?? option.flags);
}

function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help;
}

const commands = commandsOf(createProgram(NO_CONTEXT));
const names = commands.map(({ name }) => name);
const global = optionsOf(createProgram(NO_CONTEXT));

describe("docs/cli.md", () => {
  let page = "";
  /** What stands in code in each row of the table of commands. */
  let usages: string[] = [];
  beforeAll(async () => {
    page = await readFile(new URL("../../docs/cli.md", import.meta.url), "utf8");
    const table = page.slice(0, page.indexOf("\n## "));
    const cells = table.split("\n").flatMap((line) => /^\| (`(?:[^|\\]|\\\|)*)/.exec(line)?.[1] ?? []);
    usages = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? ""));
  });

  const hasName = (usage: string, name: string): boolean => `${usage} `.startsWith(`${name} `);
  const optionsIn = (text: string): string[] => [...text.matchAll(/--[a-z][a-z-]*/g)].map(([option]) => option);

  /** What is said of a command: its rows, and the sections that are headed by its name. */
  function partsOf(name: string): string {
    const sections = page.split(/^(?=#{2,3} )/m).slice(1);
    const own = sections.filter((section) => (section.split("\n")[0] ?? "").split(/[ ,]+/).includes(name));
    return [...usages.filter((usage) => hasName(usage, name)), ...own].join("\n");
  }

  it("has a row for every command and for no other", () => {
    const withoutRow = commands.filter(
      ({ name, command }) =>
        command.commands.length === 0 &&
        !partsOf(name)
          .split("\n")
          .some((at) => hasName(at, name)),
    );
    expect(withoutRow.map(({ name }) => name)).toEqual([]);
    expect(usages.filter((usage) => !names.some((name) => hasName(usage, name)))).toEqual([]);
  });

  it.each(commands.map(({ name, command }) => [name, command] as const))("names the options of %s", (name, command) => {
    const selecting = page.slice(page.indexOf("## Selecting views"));
    const takesSelectors = selecting.slice(0, selecting.indexOf("--select")).includes(`\`${name}\``);
    const named = new Set(optionsIn(partsOf(name)));
    if (takesSelectors) for (const option of ["--select", "--exclude"]) named.add(option);
    const options = optionsOf(command);
    expect(options.filter((option) => !named.has(option))).toEqual([]);
  });

  it("names the options of every command, and none that does not exist", () => {
    const documented = new Set(optionsIn(page));
    expect(global.filter((option) => !documented.has(option))).toEqual([]);
    const known = new Set(["--help", ...global, ...commands.flatMap(({ command }) => optionsOf(command))]);
    expect([...documented].filter((option) => !known.has(option))).toEqual([]);
    // A row names no option of another command.
    const foreign = usages.flatMap((usage) => {
      const { command } = commands.findLast(({ name }) => hasName(usage, name)) ?? {};
      const own = command === undefined ? [] : optionsOf(command);
      return optionsIn(usage).filter((option) => !own.includes(option) && !global.includes(option));
    });
    expect(foreign).toEqual([]);
  });
});

describe("--help", () => {
  it.each(["", ...names])("of %j ends with examples that are right", async (name) => {
    const program = createProgram(NO_CONTEXT);
    const command = commandsOf(program).find((one) => one.name === name)?.command ?? program;
    const [, examples = ""] = /\n\nExamples?:\n((?: {2}ducklake-ivm .*\n)+)$/.exec(helpOf(command)) ?? [];
    const lines = examples.trimEnd().split("\n");
    expect(lines.join("\n")).not.toBe("");
    for (const words of await shellWords(lines)) {
      const ran: string[] = [];
      const context = { run: async (self: Command) => void ran.push(pathOf(self)) };
      await createProgram(context).parseAsync(words, { from: "user" });
      expect(ran).toHaveLength(1);
      if (name !== "" && name !== "consumer") expect(`${ran[0]} `).toContain(`${name} `);
    }
  });
});

function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}

/** The words of each line as a shell hands them on; pipes and redirections go nowhere. */
async function shellWords(lines: readonly string[]): Promise<string[][]> {
  const cwd = await folder();
  const script = [
    "exec 3>&1",
    // Folders that examples write to; home is a temporary one.
    "mkdir -p ~/.zfunc ~/.local/share/bash-completion/completions ~/.config/fish/completions",
    String.raw`ducklake-ivm() { printf '%s\0' "$@" >&3; }`,
    ...lines.map((line) => `{ ${line}; } >/dev/null 2>&1; printf '\\n' >&3`),
  ].join("\n");
  const { stdout } = await execa("bash", ["-c", script], { cwd, env: { HOME: cwd }, stripFinalNewline: false });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\0").slice(0, -1));
}
