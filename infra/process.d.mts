/** This project's own cache, outside the repository. */
export function cacheFolder(): string;
