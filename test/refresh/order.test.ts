import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/errors.js";
import { selectViews, upstreamOf } from "../../src/refresh/order.js";
import type { StoredView } from "../../src/view/state.js";

/** A view that reads other views, and a table that has the name of one. */
function view(name: string, ...upstream: readonly string[]): StoredView {
  const sources = [
    { kind: "table" as const, name: "main.a", schema: "main", table: "a", columns: [] },
    ...upstream.map((table) => ({ kind: "view" as const, name: `main.${table}`, schema: "main", table, columns: [] })),
  ];
  const definition = {
    name,
    sql: "",
    statement: "{}",
    fingerprint: "",
    sources,
    columns: [],
    primaryKey: [],
    refresh: "auto" as const,
    plan: null,
    reasons: [],
    layout: {
      columns: [],
      visible: { kind: "constant" as const, sql: "", columns: [] },
      output: [],
      groups: null,
      rows: null,
    },
    usesTime: false,
  };
  return { name, definition, built: null };
}

function names(views: readonly StoredView[], asked?: readonly string[]): string[] {
  return selectViews(views, asked).map((found) => found.name);
}

test("what a view reads are views, not tables", () => {
  expect(upstreamOf(view("c", "a", "b"))).toEqual(["a", "b"]);
  expect(upstreamOf(view("c"))).toEqual([]);
});

describe("the order of a run", () => {
  const diamond = [
    view("top", "left", "right"),
    view("left", "base"),
    view("right", "base"),
    view("base"),
    view("other"),
  ];

  test("has every view after what it reads, and each once", () => {
    const order = names(diamond);
    expect([...order].sort()).toEqual(["base", "left", "other", "right", "top"]);
    for (const { name, definition } of diamond) {
      for (const source of definition.sources) {
        if (source.kind === "view") expect(order.indexOf(source.table)).toBeLessThan(order.indexOf(name));
      }
    }
  });

  test("has the asked views with all that they read, and nothing else", () => {
    expect(names(diamond, ["left"])).toEqual(["base", "left"]);
    expect(names(diamond, ["other", "top"])).toEqual(["other", "base", "left", "right", "top"]);
    expect(names(diamond, ["base", "left", "base"])).toEqual(["base", "left"]);
    expect(names(diamond, [])).toEqual([]);
  });

  test("finds views without regard to case, asked for or read", () => {
    expect(names([view("Totals"), view("report", "TOTALS")], ["Report"])).toEqual(["Totals", "report"]);
  });

  test("leaves out a view that is read and not there any more", () => {
    expect(names([view("report", "gone")], ["report"])).toEqual(["report"]);
  });
});

describe("an unknown view", () => {
  test("is an error that names the known ones", () => {
    const ask = () => selectViews([view("daily"), view("weekly")], ["daily", "monthly"]);
    expect(ask).toThrow(ConfigError);
    expect(ask).toThrow("The lake has no view monthly.");
    try {
      ask();
    } catch (error) {
      expect(error).toMatchObject({
        code: "view_unknown",
        subject: { view: "monthly" },
        hint: "Known views: daily, weekly.",
      });
    }
  });

  test("of a lake without views says to apply some", () => {
    expect(() => selectViews([], ["daily"])).toThrow(ConfigError);
    try {
      selectViews([], ["daily"]);
    } catch (error) {
      expect(error).toMatchObject({ hint: "Apply definitions first." });
    }
    expect(selectViews([], undefined)).toEqual([]);
  });
});
