import { CommanderError } from "commander";
import { describe, expect, it } from "vitest";
import { exitCodeOf, refreshExitCode } from "../../src/cli/exit.js";
import { failureLines, toFailure } from "../../src/cli/failure.js";
import { createRedactor } from "../../src/cli/redact.js";
import { styleFor } from "../../src/cli/style.js";
import {
  ConfigError,
  ConflictError,
  DefinitionError,
  EngineError,
  InternalError,
  InterruptedError,
  LakeError,
  RefreshError,
} from "../../src/errors.js";
import { toJson } from "../../src/json.js";
import type { RefreshResult } from "../../src/types.js";

const plain = styleFor({}, {});

describe("JSON", () => {
  it("has snake_case names, exact numbers, and a row's names as they are", () => {
    const value = {
      runId: "r",
      horizon: 42n,
      big: 2n ** 53n,
      small: -(2n ** 53n),
      exact: 2n ** 53n - 1n,
      elapsedMs: 1.5,
      leftOut: undefined,
      none: null,
      differences: [{ weight: -1n, row: { userId: "1", lastName: null } }],
    };
    expect(JSON.stringify(toJson(value))).toBe(
      '{"run_id":"r","horizon":42,"big":"9007199254740992","small":"-9007199254740992","exact":9007199254740991,' +
        '"elapsed_ms":1.5,"none":null,"differences":[{"weight":-1,"row":{"userId":"1","lastName":null}}]}',
    );
  });
});

describe("exit codes", () => {
  it.each([
    [new ConfigError("c", "m"), 2],
    [new DefinitionError("c", "m"), 2],
    [new CommanderError(1, "commander.unknownOption", "m"), 2],
    [new LakeError("c", "m"), 1],
    [new EngineError("c", "m"), 1],
    [new RefreshError("c", "m"), 1],
    [new InternalError("c", "m"), 1],
    [new TypeError("m"), 1],
    ["thrown text", 1],
    [new ConflictError("c", "m"), 75],
    [new InterruptedError("c", "m"), 130],
  ])("%s", (error, code) => {
    expect(exitCodeOf(error)).toBe(code);
  });
});

describe("a refresh's exit code", () => {
  const result = (...errors: ([code: string, retryable: boolean] | null)[]): RefreshResult => ({
    runId: "r",
    horizon: 1n,
    status: errors.some((error) => error !== null) ? "failed" : "refreshed",
    elapsedMs: 0,
    warnings: [],
    views: errors.map((error, index) => ({
      view: `v${index}`,
      status: error === null ? "refreshed" : "failed",
      strategy: null,
      reason: null,
      upstream: [],
      sources: [],
      terms: { total: 0, run: 0, skipped: 0 },
      rows: { inserted: 0n, deleted: 0n },
      elapsedMs: 0,
      error: error === null ? null : { code: error[0], message: "m", hint: null, retryable: error[1] },
    })),
  });

  it.each([
    ["nothing to do", result(), 0],
    ["all is well", result(null, null), 0],
    ["conflicts alone", result(["conflict", true], null), 75],
    ["a conflict and what reads its view", result(["conflict", true], ["upstream_failed", false]), 75],
    ["a conflict and a fault", result(["conflict", true], ["primary_key_violated", false]), 1],
    ["a fault and what reads its view", result(["engine_error", false], ["upstream_failed", false]), 1],
  ])("%s", (_, value, code) => {
    expect(refreshExitCode(value)).toBe(code);
  });
});

describe("secrets", () => {
  const redact = createRedactor({
    AWS_SECRET_ACCESS_KEY: "wJalrXUt/nFEMI",
    AWS_SESSION_TOKEN: "wJalrXUt/nFEMI-and-more",
    PGPASSWORD: "hunter22",
    SHORT_TOKEN: "a",
    HOME: "/home/someone",
  });

  it.each([
    ["key wJalrXUt/nFEMI is refused", "key *** is refused"],
    ["token wJalrXUt/nFEMI-and-more", "token ***"],
    ["a user at /home/someone", "a user at /home/someone"],
    ["postgres:dbname=x password=abc host=y", "postgres:dbname=x password=*** host=y"],
    ["password = 'a b\\'c' host=y", "password = *** host=y"],
    ["postgresql://me:pw@db/x?a=1", "postgresql://me:***@db/x?a=1"],
    ["at postgresql://me:p@ss/w:rd@db/x, which", "at postgresql://me:***@db/x, which"],
    [
      "CREATE SECRET (TYPE s3, KEY_ID 'AKIA', SECRET 'it''s', REGION 'x')",
      "CREATE SECRET (TYPE s3, KEY_ID '***', SECRET '***', REGION 'x')",
    ],
    ["GET /x?X-Amz-Credential=AKIA%2F1&X-Amz-Signature=abc", "GET /x?X-Amz-Credential=***&X-Amz-Signature=***"],
    ["Authorization: AWS4-HMAC-SHA256 Credential=AKIA/x", "Authorization: ***"],
  ])("are masked: %s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it("are masked in messages, hints, stacks and causes", () => {
    const error = new LakeError("c", "cannot use hunter22", {
      hint: "not hunter22",
      cause: new Error("because of hunter22", { cause: "hunter22" }),
    });
    const failure = toFailure(error, { debug: true, redact });
    expect(failure.stack).toContain("caused by Error: because of ***");
    expect(JSON.stringify(failure)).not.toContain("hunter22");
    expect(failureLines(failure, plain).join("\n")).not.toContain("hunter22");
  });
});

describe("errors for a person", () => {
  const told = (error: unknown): string[] =>
    failureLines(toFailure(error, { debug: false, redact: (text) => text }), plain);

  it("have message, place and hint", () => {
    const subject = { view: "v", file: "/project/views/v.sql", line: 3, lineColumn: 7 };
    expect(told(new DefinitionError("c", "Table x is not there.", { subject, hint: "Create it." }))).toEqual([
      "error: Table x is not there.",
      "  at /project/views/v.sql:3:7",
      "hint: Create it.",
    ]);
    expect(told(new LakeError("c", "No."))).toEqual(["error: No."]);
  });

  it("ask for a report where nobody foresaw them", () => {
    const failure = toFailure(new TypeError("x is not a function"), { debug: false, redact: (text) => text });
    expect(failure).toMatchObject({ code: "internal_error", message: "Unexpected: x is not a function" });
    expect(told(new TypeError("x is not a function"))[1]).toMatch(/^hint: .*please report it/);
  });
});

describe("colours", () => {
  it("are for a terminal that wants them", () => {
    const coloured = styleFor({ isTTY: true }, {}).red("x");
    expect(coloured).not.toBe("x");
    expect(styleFor({ isTTY: true }, { NO_COLOR: "" }).red("x")).toBe(coloured);
    expect(styleFor({ isTTY: true }, { NO_COLOR: "1" }).red("x")).toBe("x");
    expect(styleFor({ isTTY: true }, { TERM: "dumb" }).red("x")).toBe("x");
    expect(styleFor({ isTTY: false }, {}).red("x")).toBe("x");
    expect(styleFor({ isTTY: false }, { FORCE_COLOR: "1" }).red("x")).toBe(coloured);
    expect(styleFor({ isTTY: false }, { FORCE_COLOR: "" }).red("x")).toBe(coloured);
    expect(styleFor({ isTTY: true }, { FORCE_COLOR: "0" }).red("x")).toBe("x");
    expect(styleFor({ isTTY: true }, { FORCE_COLOR: "1", NO_COLOR: "1" }).red("x")).toBe("x");
  });
});
