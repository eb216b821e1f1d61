/** What an examination leaves as it was. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diagnose, open } from "../../src/index.js";
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
  const error = await open({ catalog: "dbname=lake host=db password=hunter2xyz" }, { mustExist: true }).catch(
    (failure: unknown) => failure,
  );
  expect(error).toMatchObject({ code: "catalog_unreachable" });
  expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain("hunter2xyz");
});
