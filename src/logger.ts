/** What the library has to say while it works. It never writes anywhere by itself: the caller brings a `Logger`. */

/** Facts that belong to one message; never a secret. */
export type LogFields = Readonly<Record<string, string | number | bigint | boolean | null | undefined>>;

/** Its methods need no `this`, so they can be handed on one by one. */
export interface Logger {
  /** For those who look into what the library does. */
  debug(message: string, fields?: LogFields): void;
  /** For everyone: what takes long, or is done once. */
  info(message: string, fields?: LogFields): void;
  /** What should be looked at although nothing failed. */
  warn(message: string, fields?: LogFields): void;
}

/** The default: says nothing. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
};
