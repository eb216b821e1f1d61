import { rename } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LakeConfig, open, renderMetrics, serveReport } from "../../src/index.js";
import { toJson } from "../../src/json.js";
import { BINARY, processOptions } from "../cli/command.js";
import { ORDERS, project, sql, VIEWS } from "../cli/lake.js";
import { tempLake } from "../setup/lake.js";
import { axe, openPage, startBrowser } from "./browser.js";

let browser: Browser;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ browser, close } = await startBrowser());
});
afterAll(() => close());

async function withTable(config: LakeConfig) {
  const lake = await open(config);
  const connection = await lake.connect();
  await connection.run("CREATE TABLE t AS SELECT range AS id FROM range(10)");
  await lake.define([{ name: "counted", sql: "SELECT count(*) AS n FROM t" }]);
  await lake.refresh();
  return { lake, connection };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

function ask(
  url: string,
  options: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(url, options, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () => {
        resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(parts).toString() });
      });
    });
    asking.on("error", reject);
    asking.end();
  });
}

test("the page follows the lake, which goes on being written meanwhile", async () => {
  await using place = await tempLake();
  const { lake, connection } = await withTable(place.config);
  await using server = await serveReport(place.config, { port: 0, everyMs: 300 });
  const { page, complaints } = await openPage(browser, server.url, { width: 1280, scheme: "light" });
  expect(await page.locator("h1").textContent()).toBe("The view is up to date");
  await page.locator("details.view summary").click();
  await connection.run("INSERT INTO t VALUES (11)");
  await page.locator("h1", { hasText: "1 is behind" }).waitFor({ timeout: 30_000 });
  expect(await page.locator("#view-counted").getAttribute("open")).not.toBeNull();
  expect((await lake.refresh()).status).toBe("refreshed");
  await page.locator("h1", { hasText: "The view is up to date" }).waitFor({ timeout: 30_000 });
  expect(await axe(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.close();
  connection.closeSync();
  await lake.close();
});

test("only GET and HEAD are answered, under known names, and a lake that did not change is not sent again", async () => {
  await using place = await tempLake();
  const { lake, connection } = await withTable(place.config);
  await using server = await serveReport(place.config, { port: 0, names: ["report.example"] });
  const first = await ask(server.url);
  expect(first).toMatchObject({ status: 200, headers: { "x-content-type-options": "nosniff" } });
  expect(first.headers["content-security-policy"]).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
  expect(await ask(server.url, { headers: { "if-none-match": String(first.headers["etag"]) } })).toMatchObject({
    status: 304,
    text: "",
  });
  expect(await ask(server.url, { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
    expect(await ask(server.url, { method })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
  }
  const under = (host: string) => ask(server.url, { headers: { host } });
  for (const host of ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example"]) {
    expect(await under(host), host).toMatchObject({ status: 421 });
  }
  for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80", "report.example"]) {
    expect(await under(host), host).toMatchObject({ status: 200 });
  }
  expect(await ask(`${server.url}etc/passwd`)).toMatchObject({ status: 404 });
  const before = (
    await connection.runAndReadAll("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")
  ).getRowsJS();
  await ask(server.url);
  expect(
    (await connection.runAndReadAll("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")).getRowsJS(),
  ).toEqual(before);
  connection.closeSync();
  await lake.close();
});

test("the same is there as JSON and for Prometheus, read-only, and metrics are never old ones", async () => {
  await using place = await tempLake();
  const { lake, connection } = await withTable(place.config);
  await using server = await serveReport(place.config, { port: 0, everyMs: 1 });
  const overview = await lake.overview();
  const json = await ask(`${server.url}report.json`);
  expect(json).toMatchObject({ status: 200, headers: { "content-type": "application/json; charset=utf-8" } });
  const timeless = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value, (name, inner) => (/^(taken_at|age_ms)$/.test(name) ? "" : inner)));
  expect(timeless(JSON.parse(json.text))).toEqual(timeless(toJson(overview)));
  const metrics = await ask(`${server.url}metrics`);
  expect(metrics).toMatchObject({ status: 200, text: renderMetrics(overview) });
  expect(metrics.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(metrics.text).toContain('ducklake_ivm_view_rows{view="counted"} 1\n');
  for (const path of ["report.json", "metrics"]) {
    const url = server.url + path;
    expect(await ask(url, { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    expect(await ask(url, { method: "POST" })).toMatchObject({ status: 405 });
    expect(await ask(url, { headers: { host: "evil.example" } })).toMatchObject({ status: 421 });
  }
  const { etag } = metrics.headers;
  expect(await ask(`${server.url}metrics`, { headers: { "if-none-match": String(etag) } })).toMatchObject({
    status: 304,
  });
  expect(await ask(`${server.url}metrics/`)).toMatchObject({ status: 404 });

  await connection.run("INSERT INTO t VALUES (11)");
  expect((await ask(`${server.url}metrics`)).text).toContain('ducklake_ivm_view_up_to_date{view="counted"} 0\n');
  connection.closeSync();
  await lake.close();
  await rename(place.config.catalog, `${place.config.catalog}.away`);
  await delay(10);
  expect(await ask(`${server.url}metrics`)).toMatchObject({ status: 503 });
  for (const path of ["", "report.json"]) {
    const old = await ask(server.url + path);
    expect(old, path).toMatchObject({ status: 200, headers: { "x-lake-problem": "catalog_unreachable" } });
  }
});

test("a lake that is not there is told, and is not made", async () => {
  await using place = await tempLake();
  await using server = await serveReport(
    { ...place.config, catalog: join(place.folder, "none.ducklake") },
    { port: 0 },
  );
  expect(await ask(server.url)).toMatchObject({
    status: 503,
    text: expect.stringContaining("there is no catalog file"),
  });
  await expect(serveReport(place.config, { port: Number(new URL(server.url).port) })).rejects.toMatchObject({
    code: "port_taken",
  });
});

test("the command serves until SIGINT, and ends with 0", async () => {
  const directory = await project(VIEWS, ORDERS);
  const running = execa(BINARY, ["serve", "--port", "0"], { ...processOptions({ cwd: directory }), buffer: true });
  let said = "";
  running.stdout?.on("data", (text) => {
    said += String(text);
  });
  while (!said.includes("Ctrl-C")) await delay(50);
  const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(said)?.[0] ?? "";
  expect((await ask(url)).text).toContain("No view is applied yet");
  // Another process can open the catalog, and write.
  await sql(directory, "INSERT INTO customers VALUES (3, 'Cid')");
  running.kill("SIGINT");
  const { exitCode } = await running;
  expect(exitCode).toBe(0);
  await expect(ask(url)).rejects.toThrow();
});
