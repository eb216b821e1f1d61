import { test, vi } from "vitest";
import { expectRaces } from "./races-suite.js";

vi.setConfig({ testTimeout: 400_000 });

test("processes that refresh, compact and write at once, on SQLite", () =>
  expectRaces({ catalog: "sqlite", data: "folder" }));
