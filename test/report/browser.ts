/** Pages in a real Chromium, and what they did there. */
import axeCore from "axe-core";
import type { Browser, Page } from "playwright-core";
import { inject } from "vitest";
import { launchChromium } from "../../infra/chromium.mjs";

export interface Opened {
  readonly page: Page;
  /** Messages of the console, errors and dialogs. */
  readonly complaints: readonly string[];
  /** Addresses that were asked for besides the page itself. */
  readonly requests: readonly string[];
}

export interface View {
  readonly width: number;
  readonly scheme: "light" | "dark";
}

export async function startBrowser(): Promise<{ readonly browser: Browser; readonly close: () => Promise<void> }> {
  return launchChromium(inject("chromium"));
}

export async function openPage(browser: Browser, url: string, view: View): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width: view.width, height: 900 }, colorScheme: view.scheme });
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch(() => undefined);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith("data:") && request.url() !== url) requests.push(request.url());
  });
  await page.goto(url);
  return { page, complaints, requests };
}

/** What axe finds wrong, one line a finding; all its rules run. */
export async function axe(page: Page): Promise<string[]> {
  // Through the debugger, since the page's own policy lets no other script run.
  await page.evaluate(axeCore.source);
  return page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: {
        run: (
          options: object,
        ) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
      };
    };
    const { violations } = await checker.run({ resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
  });
}
