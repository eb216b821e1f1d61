/** What may come next on a command line, told by commander's tree and the project's files. Nothing is opened or run. */
import type { Argument, Command, Option } from "commander";
import { FILES } from "./completion.js";

/** What the words before the one that is completed say. */
interface Place {
  readonly command: Command;
  /** How many arguments of the command there were. */
  readonly given: number;
  /** The option whose value comes next; its value may also be left out where it takes several. */
  readonly option: Option | undefined;
  readonly optionsEnded: boolean;
  readonly projectDirectory: string;
}

/**
 * The candidates for the last word of a line, each with a description behind a tab; or `FILES` where files are meant.
 * @param line the words behind the program's name; the last one is completed, and may be empty.
 */
export async function completeWords(program: Command, line: readonly string[]): Promise<string[]> {
  const current = line.at(-1) ?? "";
  const place = placeOf(program, line.slice(0, -1));
  const found = await candidatesOf(program, place, current);
  if (found.includes(FILES)) return [FILES];
  return found.filter((candidate) => candidate.startsWith(current));
}

function placeOf(program: Command, before: readonly string[]): Place {
  let command = program;
  let given = 0;
  let option: Option | undefined;
  let optionsEnded = false;
  let projectDirectory = ".";
  for (const word of before) {
    const isOption = !optionsEnded && word.startsWith("-") && word !== "-";
    if (option !== undefined && !isOption) {
      if (option.attributeName() === "projectDir") projectDirectory = word;
      if (!option.variadic) option = undefined;
    } else if (word === "--") {
      optionsEnded = true;
      option = undefined;
    } else if (isOption) {
      const [name = "", value] = word.split("=", 2);
      const found = optionsOf(program, command).find(({ long, short }) => name === long || name === short);
      if (found?.attributeName() === "projectDir" && value !== undefined) projectDirectory = value;
      option = value === undefined && takesValue(found) ? found : undefined;
    } else if (!(command === program && given === 0 && word === "help")) {
      const below = given === 0 ? subcommand(command, word) : undefined;
      if (below === undefined) given += 1;
      else command = below;
    }
  }
  return { command, given, option, optionsEnded, projectDirectory };
}

function candidatesOf(program: Command, place: Place, current: string): Promise<string[]> | string[] {
  const { command, option, optionsEnded } = place;
  if (!optionsEnded && current.startsWith("-")) {
    const options = optionsOf(program, command);
    const [name = "", value] = current.split("=", 2);
    if (value === undefined)
      return options.flatMap(({ long, description }) => (long ? [`${long}\t${description}`] : []));
    const meant = options.find(({ long }) => long === name);
    return meant === undefined ? [] : valuesOf(meant, place, value).then((values) => prefixed(values, `${name}=`));
  }
  if (option !== undefined) return valuesOf(option, place, current);
  if (place.given === 0 && command.commands.length > 0) {
    return command.commands.map((below) => `${below.name()}\t${below.description()}`);
  }
  if (place.given === 0 && command === program) return [];
  const { registeredArguments } = command;
  const argument = registeredArguments[place.given] ?? registeredArguments.findLast(({ variadic }) => variadic);
  return argument === undefined ? [] : valuesOf(argument, place, current);
}

/** By what the value is called: `<file>`, `<view>` and so on. */
async function valuesOf(taker: Option | Argument, place: Place, current: string): Promise<string[]> {
  if (taker.argChoices !== undefined) return [...taker.argChoices];
  const names = ("flags" in taker ? (/[<[]([^\]>.]+)/.exec(taker.flags)?.[1] ?? "") : taker.name()).split("|");
  if (names.includes("file") || names.includes("folder") || names.includes("project")) return [FILES];
  if (names.includes("from")) return ["from"];
  if (!names.includes("view") && !names.includes("selector")) return [];
  const { outlineProject } = await import("../project/outline.js");
  const views = await outlineProject(place.projectDirectory);
  const found = views.map(({ name }) => `${name}\tview`);
  if (!names.includes("selector")) return found;
  const tags = [...new Set(views.flatMap((view) => view.tags))].map((tag) => `tag:${tag}\tviews with this tag`);
  return current.startsWith("+") ? prefixed([...found, ...tags], "+") : [...found, ...tags];
}

const prefixed = (values: readonly string[], prefix: string): string[] =>
  values.map((value) => (value === FILES ? value : `${prefix}${value}`));

function optionsOf(program: Command, command: Command): Option[] {
  const own = command === program ? [] : command.options;
  const help = command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => long === "--help");
  return [...own, ...program.options, ...help].filter(({ hidden }) => !hidden);
}

function subcommand(command: Command, word: string): Command | undefined {
  return command.commands.find((below) => below.name() === word);
}

function takesValue(option: Option | undefined): boolean {
  return option !== undefined && (option.required || option.optional);
}
