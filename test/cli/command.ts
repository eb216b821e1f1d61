/** Runs the built binary as a process of its own, as its users do. */
import { fileURLToPath } from "node:url";
import { execa, type Options } from "execa";

export const BINARY = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface CommandResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The same settings for every run, so that a test does not depend on who starts it. */
export function processOptions({ cwd, env = {} }: CommandOptions) {
  return {
    ...(cwd === undefined ? {} : { cwd }),
    env: { NO_COLOR: undefined, FORCE_COLOR: undefined, NODE_OPTIONS: undefined, ...env },
    reject: false,
    stdin: "ignore",
  } as const satisfies Options;
}

export async function command(words: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { exitCode, stdout, stderr } = await execa(BINARY, words, processOptions(options));
  return { exitCode, stdout, stderr };
}

/** Runs a command with `--output json` and reads the last line of its stdout. */
export async function json<T>(
  words: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult & { readonly value: T }> {
  const result = await command([...words, "--output", "json"], options);
  const last = result.stdout.split("\n").at(-1) ?? "";
  let value: T;
  try {
    value = JSON.parse(last) as T;
  } catch {
    throw new Error(`the last line of stdout is no JSON: ${JSON.stringify(result)}`);
  }
  return { ...result, value };
}

export interface JsonError {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint: string | null;
    readonly retryable: boolean;
    readonly subject: Readonly<Record<string, string | number>>;
    readonly problems?: readonly { readonly code: string; readonly line?: number; readonly column?: number }[];
    readonly stack?: string;
  };
}
