// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration has references of this form.
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadProject } from "../../src/project/load.js";
import { folder, load, problemsOf } from "./files.js";

const CONFIG = "lake: { catalog: x.db }";
const problemsOfViews = (files: Readonly<Record<string, string | Uint8Array>>): Promise<string[]> =>
  problemsOf(load(CONFIG, files));

describe("the folder of views", () => {
  it("holds one .sql file a view, in any subfolder, by name", async () => {
    const project = await load(CONFIG, {
      "views/b.sql": "SELECT 2",
      "views/marts/daily/a.SQL": "SELECT 1",
      "views/notes.md": "not a view",
      "views/.hidden.sql": "not a view",
      "views/.git/c.sql": "not a view",
    });
    expect(project.views).toEqual([
      { name: "a", sql: "SELECT 1", file: join(project.directory, "views/marts/daily/a.SQL"), lineOffset: 0 },
      { name: "b", sql: "SELECT 2", file: join(project.directory, "views/b.sql"), lineOffset: 0 },
    ]);
  });

  it("may be empty", async () => {
    expect((await load(CONFIG, { "views/.keep": "" })).views).toEqual([]);
  });

  it("must exist and be a folder", async () => {
    expect(await problemsOfViews({})).toEqual([
      "views views_unreadable: the folder of the views does not exist | Create it, or correct the path.",
    ]);
    expect(await problemsOfViews({ views: "a file" })).toEqual([
      "views views_unreadable: the folder of the views is not a folder | Correct the path.",
    ]);
  });

  it("is followed through links as mounted configuration has them, and never in circles", async () => {
    const directory = await folder({
      "ducklake-ivm.yaml": CONFIG,
      "views/..data/a.sql": "SELECT 1",
      "elsewhere/b.sql": "SELECT 2",
    });
    await symlink("..data/a.sql", join(directory, "views", "a.sql"));
    await symlink("../elsewhere", join(directory, "views", "linked"));
    await symlink("../elsewhere", join(directory, "views", "linked-again"));
    await symlink("..", join(directory, "elsewhere", "circle"));
    const project = await loadProject(directory);
    expect(project.views.map((view) => view.name)).toEqual(["a", "b"]);
  });

  it("tells a link to nowhere", async () => {
    const directory = await folder({ "ducklake-ivm.yaml": CONFIG, "views/.keep": "" });
    await symlink("gone.sql", join(directory, "views", "a.sql"));
    expect(await problemsOf(loadProject(directory))).toEqual([
      "views/a.sql file_unreadable: does not exist | Create it, or correct the path.",
    ]);
  });
});

describe("names of views", () => {
  it("may not repeat, letter case aside; both files are named", async () => {
    const problems = await problemsOfViews({ "views/a/Sales.sql": "SELECT 1", "views/b/sales.sql": "SELECT 2" });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(
      /^views\/b\/sales\.sql view_duplicate: view "sales" is also defined by .*views\/a\/Sales\.sql \| .*rename one\.$/,
    );
  });

  it("may not have a dot", async () => {
    expect(await problemsOfViews({ "views/main.sales.sql": "SELECT 1" })).toEqual([
      expect.stringMatching(/^views\/main\.sales\.sql view_name: "main\.sales" can't be a view's name: it has a dot/),
    ]);
  });
});

describe("a view file's header", () => {
  const viewOf = async (text: string) => (await load(CONFIG, { "views/v.sql": text })).views[0];

  it.each([
    ["/* ---\nprimary_key: id\nrefresh: full\n--- */\nSELECT 1", { primaryKey: ["id"], refresh: "full" }],
    ["/* --- primary_key: [a, B c] --- */ SELECT 1", { primaryKey: ["a", "B c"] }],
    ["\n  /*---\n  primary_key:\n    - a\n    - b\n  ---*/\nSELECT 1", { primaryKey: ["a", "b"] }],
    ["\uFEFF/* ---\r\nrefresh: incremental\r\n--- */\r\nSELECT 1", { refresh: "incremental" }],
    ["/* ---\n# only a remark\nrefresh: auto # here\n--- */ SELECT 1", { refresh: "auto" }],
    ["/* --- float_sums: fold --- */ SELECT 1", { floatSums: "fold" }],
    ["/* --- tags: daily --- */ SELECT 1", { tags: ["daily"] }],
    ["/* --- tags: [daily, team.finance] --- */ SELECT 1", { tags: ["daily", "team.finance"] }],
    ["/* --- target_lag: 15m --- */ SELECT 1", { targetLagMs: 900_000 }],
    ["SELECT 1", {}],
    ["/* a remark */ SELECT 1", {}],
    ["/* ------ an ornament ------ */ SELECT 1", {}],
    ["-- /* --- primary_key: id --- */\nSELECT 1", {}],
    ["SELECT 1 /* --- primary_key: id --- */", {}],
  ])("is read from the first comment alone: %j", async (text, expected) => {
    const view = await viewOf(text);
    const { name, sql, file, lineOffset, ...header } = view ?? {};
    expect(header).toEqual(expected);
    expect(name).toBe("v");
  });

  it("goes before the configuration's float_sums", async () => {
    const { views } = await load(`${CONFIG}\nfloat_sums: fold\n`, {
      "views/a.sql": "SELECT 1",
      "views/b.sql": "/* --- float_sums: reread --- */ SELECT 1",
    });
    expect(views.map((view) => view.floatSums)).toEqual(["fold", "reread"]);
  });

  it("stays in the SQL, so that lines of the SQL are lines of the file", async () => {
    const text = "/* ---\nprimary_key: id\n--- */\nSELECT 1 AS id";
    expect(await viewOf(text)).toMatchObject({ sql: text, lineOffset: 0 });
  });

  it("knows no ${NAME}: a definition does not depend on the environment", async () => {
    expect(await viewOf("/* --- primary_key: '${HOME}' --- */ SELECT 1")).toMatchObject({ primaryKey: ["${HOME}"] });
  });

  it.each([
    [
      "/* ---\nprimarykey: id\n--- */ SELECT 1",
      ':2:1 key_unknown: unknown key "primarykey" | Did you mean "primary_key"?',
    ],
    [
      "/* ---\nrefresh: auto\nname: x\n--- */ SELECT 1",
      ':3:1 key_unknown: unknown key "name" | A view is named after its file.',
    ],
    ["/* ---\nrefresh: sometimes\n--- */ SELECT 1", ":2:10 value_invalid: refresh must be auto, incremental or full"],
    ["/* ---\n\n  refresh: true\n--- */ SELECT 1", ":3:12 value_invalid: refresh must be auto, incremental or full"],
    [
      "/* ---\ntags: 'a b'\n--- */ SELECT 1",
      ":2:7 value_invalid: tags[1] may have letters, digits, _, - and dots only",
    ],
    [
      "/* ---\ntarget_lag: 15\n--- */ SELECT 1",
      ":2:13 value_invalid: target_lag must be a length of time, not a number",
    ],
    ["/* ---\ntarget_lag: soon\n--- */ SELECT 1", ":2:13 value_invalid: target_lag is not a length of time"],
    ["/* ---\nfloat_sums: exact\n--- */ SELECT 1", ":2:13 value_invalid: float_sums must be reread or fold"],
    ["/* ---\nprimary_key: []\n--- */ SELECT 1", ":2:14 value_invalid: primary_key names no column"],
    ["/* ---\nprimary_key: ''\n--- */ SELECT 1", ":2:14 value_invalid: primary_key"],
    [
      "/* ---\nprimary_key: 3\n--- */ SELECT 1",
      ":2:14 value_invalid: primary_key must be a column's name or a list of them, not a number",
    ],
    ["/* ---\nprimary_key:\n--- */ SELECT 1", ":2:13 value_invalid: primary_key has no value"],
    [
      "/* ---\nprimary_key: [a, 3]\n--- */ SELECT 1",
      ":2:18 value_invalid: primary_key[2] must be a column's name, not a number",
    ],
    ["/* ---\nprimary_key: [a, A]\n--- */ SELECT 1", ":2:14 value_invalid: primary_key names a column twice"],
    ["/* ---\nrefresh: auto\nrefresh: full\n--- */ SELECT 1", ":3:1 yaml_duplicate_key"],
    ["/* ---\n\trefresh: auto\n--- */ SELECT 1", ":2:1 yaml_syntax: a tab is used as indentation"],
    ["/* --- */ SELECT 1", ":1:1 header_open"],
    [
      "\n/* ---\nrefresh: auto\n*/ SELECT 1",
      ':2:1 header_open: the header that begins with "/* ---" is not closed by "--- */"',
    ],
    ["/* ---\nrefresh: auto", ":1:1 header_open"],
    ["/* --- --- */ SELECT 1", ":1:7 yaml_not_a_mapping: the header is empty"],
    ["/* --- Daily sales --- */ SELECT 1", ":1:8 yaml_not_a_mapping: the header must be a mapping"],
    ["  \n", " view_empty: the file is empty | Write one SELECT statement."],
  ])("is wrong: %j", async (text, expected) => {
    const problems = await problemsOfViews({ "views/v.sql": text });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`views/v.sql${expected}`);
  });

  it("is told for all files at once", async () => {
    const problems = await problemsOfViews({
      "views/a.sql": "/* --- x: 1 --- */ SELECT 1",
      "views/b.sql": new Uint8Array([0xff]),
      "views/c.sql": "",
      "views/d.sql": "SELECT 1",
    });
    expect(problems.map((problem) => problem.split(": ")[0])).toEqual([
      "views/a.sql:1:8 key_unknown",
      "views/b.sql file_unreadable",
      "views/c.sql view_empty",
    ]);
  });
});
