import type { Browser } from "playwright-core";

export function findChromium(): Promise<string>;

export function launchChromium(
  executablePath: string,
): Promise<{ readonly browser: Browser; readonly close: () => Promise<void> }>;
