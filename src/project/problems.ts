/** Problems found in the files of a project. They are gathered first and raised together, so that one run shows all. */
import { relative } from "node:path";
import { ConfigError } from "../errors.js";

/** One thing that is wrong in a file of the project. */
export interface Problem {
  /** Stable, lower_snake_case. */
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  /** Absolute path of the file or folder. */
  readonly file: string;
  /** One-based; left out where the file as a whole is meant. */
  readonly line?: number;
  readonly column?: number;
}

/** The project's files are wrong: carries every problem that was found, not only the first. */
export class ProjectError extends ConfigError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const [first, ...others] = problems;
    if (first === undefined) {
      throw new RangeError("a ProjectError needs at least one problem");
    }
    const alone = others.length === 0;
    const code = others.every((problem) => problem.code === first.code) ? first.code : "project_invalid";
    const lines = problems.map((problem) => `${formatPlace(problem)}: ${problem.message}`);
    const message = alone ? (lines[0] as string) : `${problems.length} problems:\n${lines.join("\n")}`;
    super(code, message, {
      subject: {
        file: first.file,
        ...(first.line === undefined ? {} : { line: first.line }),
        ...(first.column === undefined ? {} : { lineColumn: first.column }),
      },
      ...(first.hint === undefined || !alone ? {} : { hint: first.hint }),
    });
    this.problems = problems;
  }
}

/** Gathers problems while a project is read. */
export class Problems {
  readonly #found: Problem[] = [];

  add(problem: Problem): void {
    this.#found.push(problem);
  }

  get found(): readonly Problem[] {
    return this.#found;
  }

  get count(): number {
    return this.#found.length;
  }
}

/** `file:line:column`, the file relative to the working directory where it lies inside. */
export function formatPlace(place: Pick<Problem, "file" | "line" | "column">): string {
  const fromHere = relative(process.cwd(), place.file);
  const file = fromHere === "" || fromHere.startsWith("..") ? place.file : fromHere;
  const line = place.line === undefined ? "" : `:${place.line}`;
  const column = place.line === undefined || place.column === undefined ? "" : `:${place.column}`;
  return `${file}${line}${column}`;
}

/** The one-based line and column of an offset into a text. */
export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, Math.max(0, Math.min(offset, text.length)));
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: before.length - lineStart + 1 };
}
