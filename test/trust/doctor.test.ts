/** What an examination leaves as it was. */
import { existsSync } from "node:fs";
import { copyFile, readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diagnose, open, readOverview } from "../../src/index.js";
import { tempLake } from "../setup/lake.js";

test("folders that were made to see whether they can be are removed again", async () => {
  await using place = await tempLake();
  await (await open(place.config)).close();
  const { checks, ok } = await diagnose({ ...place.config, log: { path: join(place.folder, "deep", "er", "logs") } });
  expect(ok, JSON.stringify(checks)).toBe(true);
  expect(checks.find(({ name }) => name === "log_conditional_put")).toMatchObject({ status: "ok" });
  expect(existsSync(join(place.folder, "deep"))).toBe(false);
});

test("a password in a catalog whose kind was forgotten is in no message", async () => {
  const { checks } = await diagnose({ catalog: "dbname=lake host=db password=hunter2xyz" });
  expect(checks.find(({ name }) => name === "catalog")?.status).toBe("error");
  expect(JSON.stringify(checks)).not.toContain("hunter2xyz");
  const config = { catalog: "dbname=lake host=db password=hunter2xyz" };
  for (const look of [() => open(config, { mustExist: true }), () => readOverview(config)]) {
    const error = await look().catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: "catalog_unreachable" });
    expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain("hunter2xyz");
  }
});

test("data files that the lake does not know are told once they are older than a day", async () => {
  await using place = await tempLake();
  const lake = await open(place.config);
  const connection = await lake.connect();
  await connection.run("CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i)");
  await lake.define([{ name: "v", sql: "SELECT count(*) AS n FROM t" }]);
  connection.closeSync();
  await lake.close();
  const folder = join(place.folder, "data", "main", "t");
  const [known = ""] = await readdir(folder);
  const strayData = async () => (await diagnose(place.config)).checks.find(({ name }) => name === "stray_data");
  for (const name of ["young", "old"]) await copyFile(join(folder, known), join(folder, `${name}.parquet`));
  expect(await strayData()).toMatchObject({ status: "ok", remedy: null });
  const longAgo = new Date(Date.now() - 2 * 24 * 60 * 60 * 1000);
  await utimes(join(folder, "old.parquet"), longAgo, longAgo);
  expect(await strayData()).toMatchObject({
    status: "warning",
    message: "1 files in the data path are older than a day and unknown to the lake.",
    remedy: expect.stringContaining("--orphans-older-than"),
  });
  expect(await readdir(folder)).toHaveLength(3);
});
