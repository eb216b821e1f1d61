/** What the library has to say while it works. It never writes anywhere by itself: the caller brings a `Logger`. */

/** Facts that belong to one message; never a secret. */
export type LogFields = Readonly<Record<string, string | number | bigint | boolean | null | undefined>>;

/** Its methods need no `this`, so they can be handed on one by one. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
}

/** The default: says nothing. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
};
