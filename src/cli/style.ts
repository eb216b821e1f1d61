/** Text styles that vanish where the output is no terminal. */
import picocolors from "picocolors";

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

/** The styles for a stream, honouring NO_COLOR. */
export function styleFor(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Style {
  const wanted = stream.isTTY === true && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  return picocolors.createColors(wanted);
}
