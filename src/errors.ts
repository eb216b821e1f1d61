/**
 * The error family. Every error that this project raises on purpose is an `IvmError`: callers branch on `code`,
 * never on the message, and `retryable` says whether running the same call again can succeed.
 */

/** What an error speaks of; each field is filled where it is known. */
export interface ErrorSubject {
  readonly view?: string;
  readonly table?: string;
  readonly column?: string;
  readonly snapshot?: bigint;
  readonly file?: string;
  readonly line?: number;
  readonly lineColumn?: number;
}

/** What an error says besides its code and message. */
export interface IvmErrorOptions {
  readonly subject?: ErrorSubject;
  /** What the reader can do about it, one sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** The root of the error family: branch on `code`. */
export abstract class IvmError extends Error {
  /** Stable, lower_snake_case; part of the public interface. */
  readonly code: string;
  readonly subject: ErrorSubject;
  readonly hint: string | undefined;
  /** True where the same call may succeed when it is made again. */
  readonly retryable: boolean = false;

  constructor(code: string, message: string, options: IvmErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.subject = options.subject ?? {};
    this.hint = options.hint;
  }
}

/** Wrong configuration, project files or command line: exit code 2. */
export class ConfigError extends IvmError {}

/** A view's definition is wrong or can't be kept: exit code 2 at apply. */
export class DefinitionError extends IvmError {}

/** The lake, its catalog or its storage can't be reached or refuses: exit code 1. */
export class LakeError extends IvmError {}

/** The engine could not be started or an extension could not be had. */
export class EngineError extends IvmError {}

/** A view could not be brought to the horizon; the other views are not affected. */
export class RefreshError extends IvmError {}

/** Values of the row that an error speaks of, as text. */
export type Sample = Readonly<Record<string, string | null>>;

/** The input of an append or a merge can't be taken as it is; nothing was written. */
export class IngestError extends IvmError {
  /** Up to three examples of what is wrong: the rows' keys, or the values. */
  readonly samples: readonly Sample[];

  constructor(code: string, message: string, options: IvmErrorOptions & { readonly samples?: readonly Sample[] } = {}) {
    super(code, message, options);
    this.samples = options.samples ?? [];
  }
}

/** Another writer was faster; running again is right: exit code 75. */
export class ConflictError extends IvmError {
  override readonly retryable: boolean = true;
}

/** The caller or a signal asked to stop: exit code 130. */
export class InterruptedError extends IvmError {}

/** A state that the code holds to be impossible; always a fault of this project. */
export class InternalError extends IvmError {}
