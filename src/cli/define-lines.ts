/** What `define` did or would do, for a person. */
import type { DefineAction, DefineResult } from "../types.js";
import { orDash, reasonTexts, table } from "./format.js";
import type { Style } from "./style.js";

const DONE: Readonly<Record<DefineAction["action"], string>> = {
  create: "created",
  rebuild: "changed",
  keep: "unchanged",
  drop: "dropped",
  orphan: "no file",
};
const PLANNED: Readonly<Record<DefineAction["action"], string>> = {
  ...DONE,
  create: "create",
  rebuild: "change",
  drop: "drop",
};

export function definitionLines(result: DefineResult, style: Style): string[] {
  if (result.actions.length === 0) {
    return ["The project has no views, and neither has the lake."];
  }
  const words = result.dryRun ? PLANNED : DONE;
  const rows = result.actions.map((action) => [
    action.view,
    words[action.action],
    orDash(action.strategy),
    reasonTexts(action.reasons),
  ]);
  const lines = table(["VIEW", "DEFINITION", "STRATEGY", "WHY"], rows, style);
  const has = (...kinds: DefineAction["action"][]): boolean =>
    result.actions.some(({ action }) => kinds.includes(action));
  if (has("orphan")) {
    lines.push("", `Views with no file stay as they are; ${style.bold("ducklake-ivm apply --drop")} drops them.`);
  }
  if (!result.dryRun && has("create", "rebuild")) {
    lines.push("", `Next: ${style.bold("ducklake-ivm refresh")} builds what was created or changed.`);
  }
  return lines;
}
