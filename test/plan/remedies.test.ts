import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { remedyOf } from "../../src/plan/remedies.js";

const PLAN = new URL("../../src/plan/", import.meta.url);

/** Forms of which nothing is known but that the planner does not know them. */
const UNKNOWN = ["query_form", "from_form", "plan_mismatch", "unknown_column", "unknown_table", "sample", "macro"];

test("every form without a rule has a rewrite, and a page that tells more", async () => {
  const files = (await readdir(PLAN)).filter((name) => name !== "remedies.ts");
  const sources = await Promise.all(files.map((name) => readFile(new URL(name, PLAN), "utf8")));
  const codes = sources.flatMap((text) =>
    [...text.matchAll(/new Unsupported\(\s*"(\w+)"/g)].map(([, code]) => code ?? ""),
  );
  expect(codes).toEqual(expect.arrayContaining(["positional_join", "recursive_union_all", "limit", "asof_join"]));
  const pages = await readdir(new URL("../../docs/operators/", import.meta.url));
  for (const code of [
    ...new Set([...codes, "lateral", "time_dependent", "limit", "recursive_type", "recursion_lost"]),
  ]) {
    const remedy = remedyOf(code);
    if (UNKNOWN.includes(code)) expect(remedy, code).toBeNull();
    else expect(pages, `${code} has a remedy`).toContain(remedy?.page);
  }
});
