import { rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OpenLake } from "../setup/open-lake.js";
import { restoredSuite } from "./restored-suite.js";

restoredSuite("duckdb");
restoredSuite("sqlite");

test("a catalog file that is gone is told of, also to a process that still has it open", async () => {
  await using place = await OpenLake.start();
  const file = join(place.folder, "catalog.ducklake");
  await rename(file, `${file}.away`);
  await expect(place.lake.refresh()).rejects.toMatchObject({ code: "catalog_unreachable", subject: { file } });
  await rename(`${file}.away`, file);
  expect((await place.lake.refresh()).status).toBe("unchanged");
});
