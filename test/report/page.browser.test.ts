import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Overview, renderReport } from "../../src/index.js";
import { axe, openPage, startBrowser, type View } from "./browser.js";
import { HOSTILE, livedInOverview } from "./lived-in.js";

const VIEWS: readonly View[] = [
  { width: 1280, scheme: "light" },
  { width: 1280, scheme: "dark" },
  { width: 390, scheme: "light" },
  { width: 390, scheme: "dark" },
];

let browser: Browser;
let close: () => Promise<void>;
let overview: Overview;
let url: string;

async function pageOf(shown: Overview): Promise<string> {
  const file = join(await mkdtemp(join(inject("workspace"), "report-")), "report.html");
  await writeFile(file, await renderReport(shown, { title: `shop ${HOSTILE}` }));
  return pathToFileURL(file).href;
}

beforeAll(async () => {
  ({ browser, close } = await startBrowser());
  overview = await livedInOverview();
  url = await pageOf(overview);
}, 180_000);

afterAll(() => close());

const open = (view: View) => openPage(browser, url, view);
const openAll = (page: Page) =>
  page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
const texts = async (page: Page, selector: string): Promise<string[]> =>
  (await page.locator(selector).allTextContents()).map((text) => text.replaceAll(/\s+/g, " ").trim());

describe.each(VIEWS)("at $width pixels, $scheme", (view) => {
  test("it complains of nothing, asks for nothing, fits, and axe finds nothing", async () => {
    const { page, complaints, requests } = await open(view);
    await openAll(page);
    const { scrollWidth } = await page.evaluate<{ scrollWidth: number }>(
      "({ scrollWidth: document.documentElement.scrollWidth })",
    );
    expect(scrollWidth).toBeLessThanOrEqual(view.width);
    expect(await axe(page)).toEqual([]);
    expect(complaints).toEqual([]);
    expect(requests).toEqual([]);
    await page.close();
  });
});

test("what it shows is what the lake says", async () => {
  const { page } = await open({ width: 1280, scheme: "light" });
  expect(await texts(page, "h1")).toEqual(["Of 6 views, 1 failed, 3 are behind and 1 waits to be built"]);
  expect(await page.title()).toBe(`shop ${HOSTILE}: Of 6 views, 1 failed, 3 are behind and 1 waits to be built`);
  expect(await texts(page, ".view-name .name")).toEqual(overview.views.map(({ view }) => view));
  expect(await texts(page, ".view-rows")).toEqual(
    overview.views.map(({ rows }) => (rows === null ? "–" : `${rows} ${rows === 1n ? "row" : "rows"}`)),
  );
  expect(await texts(page, "details.view pre")).toEqual(
    overview.views.map(({ sql }) => sql.replaceAll(/\s+/g, " ").trim()),
  );
  expect(await texts(page, ".graph .label")).toEqual(
    overview.graph.nodes.map(({ name }) => (name === HOSTILE ? expect.stringMatching(/…$/) : name)),
  );
  expect(await page.locator(".graph .edge").count()).toBe(overview.graph.edges.length);
  expect(await texts(page, "#runs tbody tr td:last-child")).toEqual(
    overview.runs.recent.slice(0, 12).map(({ runId }) => runId.slice(0, 8)),
  );
  const [consumer] = overview.consumers;
  expect(await texts(page, "#logs tbody tr:first-child td")).toEqual([
    consumer?.name,
    "spent",
    String(consumer?.position),
    expect.stringMatching(/\d/),
    String(consumer?.windows),
    String(consumer?.rows),
  ]);
  expect(await page.locator("#logs figure").count()).toBe(overview.logs.length);
  const [first] = await texts(page, ".findings li:first-child .title");
  expect(first).toBe("Broken: refunded failed 2 times in a row");
  const error = overview.views.find(({ view }) => view === "refunded")?.recent[0]?.error;
  expect(await texts(page, ".findings li:first-child .text")).toEqual([`${error?.message} ${error?.hint}`]);
  await page.close();
});

test("it says what to write differently, and what the lake will soon have forgotten", async () => {
  const { page } = await open({ width: 1280, scheme: "light" });
  await openAll(page);
  const advised = overview.views.filter(({ advice }) => advice.some(({ rewrite }) => rewrite !== null));
  expect(advised.map(({ view }) => view)).toContain("places");
  expect(await page.locator(".advice").count()).toBe(advised.length);
  const [advice] = advised.find(({ view }) => view === "places")?.advice ?? [];
  expect(advice).toMatchObject({ code: "window_whole" });
  const [told] = await texts(page, "#view-places .advice li");
  for (const part of [advice?.why, advice?.rewrite, advice?.page, "window"]) expect(told).toContain(part);

  const { needed, warnings } = overview.retention;
  expect(warnings).toMatchObject([{ code: "snapshot_expires" }]);
  expect(await texts(page, "#retention .warnings li")).toEqual(warnings.map(({ text, code }) => `${text} ${code}`));
  expect((await texts(page, "#retention p")).join()).toContain(`Snapshot ${needed?.snapshot} is the oldest`);
  expect((await texts(page, ".findings .title")).join()).toMatch(/needs? a snapshot that expires soon/);
  await page.close();
});

test("names and SQL that are markup are text", async () => {
  const { page, complaints } = await open({ width: 1280, scheme: "light" });
  await openAll(page);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.locator("script").count()).toBe(1);
  expect(await page.locator(".columns b").count()).toBe(0);
  expect(complaints).toEqual([]);
  await page.close();
});

test("its policy lets no other script run", async () => {
  const { page, complaints } = await open({ width: 1280, scheme: "light" });
  await page.evaluate(
    "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.hacked = 1\">')",
  );
  await page.waitForTimeout(200);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(complaints.join()).toContain("Content Security Policy");
  await page.close();
});

test("it can be used from the keyboard", async () => {
  const { page } = await open({ width: 1280, scheme: "light" });
  await page.keyboard.press("Tab");
  expect(await texts(page, ":focus")).toEqual(["Skip to the content"]);
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await page.locator(".graph a.node", { hasText: "spent" }).focus();
  await page.keyboard.press("Enter");
  // Not by waitForFunction: it evaluates text in the page, which the page's own policy may forbid.
  await page.locator("#view-spent[open]").waitFor();
  expect(await page.evaluate("document.activeElement.tagName")).toBe("SUMMARY");
  await page.keyboard.press("Enter");
  expect(await page.locator("#view-spent").getAttribute("open")).toBeNull();
  await page.locator("#filter").focus();
  await page.keyboard.type("failed");
  expect(await texts(page, "details.view:visible .view-name .name")).toEqual(["refunded"]);
  expect(await texts(page, "#filter-count")).toEqual(["1 of 6"]);
  await page.close();
});

test("on paper everything is open", async () => {
  const { page } = await open({ width: 1280, scheme: "dark" });
  await page.emulateMedia({ media: "print" });
  const isOpen = "[...document.querySelectorAll('details')].every((details) => details.open)";
  await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  expect(await page.evaluate(isOpen)).toBe(true);
  await page.evaluate("window.dispatchEvent(new Event('afterprint'))");
  expect(await page.evaluate(isOpen)).toBe(false);
  await page.close();
});

test("200 views are still a page that opens at once", async () => {
  const views = Array.from({ length: 200 }, (_, index) => {
    const view = overview.views[index % overview.views.length];
    if (view === undefined) throw new TypeError("there are views");
    return { ...view, view: `${view.view}_${index}` };
  });
  const graph = {
    nodes: [
      ...overview.graph.nodes.filter(({ kind }) => kind === "table"),
      ...views.map(({ view: name }) => ({ ...overview.graph.nodes.at(-1), kind: "view", name })),
    ] as Overview["graph"]["nodes"],
    edges: views.map(({ view }) => ({ from: "main.orders", to: view, changed: true })),
  };
  const buckets = views.flatMap(({ view }) =>
    Array.from({ length: 72 }, (_, bucket) => ({
      bucket,
      view,
      outcome: "incremental" as const,
      refreshes: 10,
      elapsedMs: 5 + bucket,
    })),
  );
  const large = await pageOf({ ...overview, views, graph, runs: { ...overview.runs, bucketCount: 72, buckets } });
  const { page, complaints } = await openPage(browser, large, { width: 390, scheme: "light" });
  const { size, took } = await page.evaluate<{ size: number; took: number }>(
    "(({ decodedBodySize: size, domInteractive: took }) => ({ size, took }))(performance.getEntriesByType('navigation')[0])",
  );
  expect(await page.locator("details.view").count()).toBe(200);
  expect(await page.locator(".lane").count()).toBeLessThan(50);
  expect(size).toBeLessThan(6_000_000);
  expect(took).toBeLessThan(10_000);
  const { scrollWidth } = await page.evaluate<{ scrollWidth: number }>(
    "({ scrollWidth: document.documentElement.scrollWidth })",
  );
  expect(scrollWidth).toBeLessThanOrEqual(390);
  expect(complaints).toEqual([]);
  await page.close();
});
