import type { LakeConfig } from "../types.js";

export interface Redactor {
  readonly redact: (text: string) => string;
  readonly add: (secret: string) => void;
}

/** Replaces every secret of a configuration in a text, in any message that leaves the engine. */
export function makeRedactor(config: LakeConfig): Redactor {
  const secrets = new Set<string>();
  const add = (secret: string | undefined): void => {
    if (secret !== undefined && secret !== "") secrets.add(secret);
  };
  add(config.s3?.secretAccessKey);
  add(config.s3?.sessionToken);
  for (const secret of passwordsOf(config.catalog)) add(secret);
  return {
    add,
    redact: (text) => [...secrets].reduce((redacted, secret) => redacted.replaceAll(secret, "***"), text),
  };
}

/** The password in a PostgreSQL connection string, as `password=…` (also quoted) or in a URI. */
export function passwordsOf(catalog: string): string[] {
  const found: string[] = [];
  const pair = /password\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S+))/gi;
  for (const match of catalog.matchAll(pair)) found.push(match[1] ?? match[2] ?? "");
  // Up to the last @: one that was not written as %40, a slash or a space make the address wrong, and no less secret.
  const uri = /:\/\/[^:@/\s]*:(.+)@/s.exec(catalog);
  if (uri?.[1] !== undefined) found.push(uri[1], decoded(uri[1]));
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
