/** Text styles that vanish where the output is no terminal. */
import picocolors from "picocolors";

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

/** The styles for a stream: on a terminal, or where FORCE_COLOR is set; never where NO_COLOR is. */
export function styleFor(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Style {
  const isForced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  const isWanted = isForced || (isTerminal(stream, env) && env.FORCE_COLOR === undefined);
  return picocolors.createColors(isWanted && (env.NO_COLOR ?? "") === "");
}

/** True for a terminal that can move its cursor. */
export function isTerminal(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return stream.isTTY === true && env.TERM !== "dumb";
}
