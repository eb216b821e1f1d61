/** This project's own cache, outside the repository. */
export function cacheFolder(): string;

/** A port that nobody listens on at the moment of asking. */
export function freePort(): Promise<number>;

/** The first of the folders, by default those of PATH, that holds the program. */
export function findProgram(name: string, folders?: readonly string[]): Promise<string | undefined>;
