/** `${NAME}` in values of the configuration. */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Expansion {
  readonly value: string;
  /** Variables that are named but not set, each once. */
  readonly unset: readonly string[];
  /** References that are not of the form `${NAME}`. */
  readonly malformed: readonly string[];
}

const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Puts the environment's values in place of `${NAME}`; `$${` stands for a literal `${`. */
export function expandEnvironment(text: string, env: Environment): Expansion {
  const unset = new Set<string>();
  const malformed: string[] = [];
  const value = text.replaceAll(REFERENCE, (reference: string, name: string | undefined, end: string | undefined) => {
    if (name === undefined) {
      return "${";
    }
    if (end === "" || !NAME.test(name)) {
      malformed.push(reference);
      return reference;
    }
    const found = env[name];
    if (found === undefined) {
      unset.add(name);
      return reference;
    }
    return found;
  });
  return { value, unset: [...unset], malformed };
}
