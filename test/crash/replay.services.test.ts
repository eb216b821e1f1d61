/** A replay into PostgreSQL that is killed before each of its statements, and while the commit is under way. */

import { expect, test } from "vitest";
import { MirrorScene } from "../replay/mirror.js";
import { Workers } from "./process.js";
import { change, ONE_VIEW, stepsOf, TABLES } from "./scene.js";

const DELAYS = [0, 3, 10];

test("killed at any step, a mirror equals the view at one position, and a rerun brings it to the end", {
  timeout: 900_000,
}, async () => {
  await using scene = await MirrorScene.start("postgres", { catalog: "postgres", data: "folder" });
  await scene.sql(...TABLES);
  await scene.lake.define(ONE_VIEW);
  await scene.refresh();
  await scene.lake.addConsumer("totals", "totals");
  await using workers = new Workers(scene.config, true);
  const task = { action: "replay", options: scene.options("totals", "totals") } as const;
  let changes = 0;
  const move = async (): Promise<void> => {
    await change(scene.writer, changes++);
    await scene.refresh();
  };

  // The first replay, which makes the table, and one of changes: each tells how many statements it takes.
  for (let step = 1, done = false; !done; step += 16) {
    const outcome = await workers.run({ ...task, before: step });
    done = !outcome.killed;
  }
  await scene.expectMirror("totals");
  await move();
  const undisturbed = await workers.run(task);
  if (undisturbed.killed) throw new Error("nobody was to be killed");
  await scene.expectMirror("totals");
  const { statements } = undisturbed;
  const steps = stepsOf(statements, { inside: 1, outside: 25 });
  expect(steps.length).toBeGreaterThan(10);

  for (const step of steps) {
    const before = await shown(scene);
    await move();
    expect(await workers.run({ ...task, before: step }), `step ${step}`).toEqual({ killed: true });
    // Either nothing of it came through, or all.
    if (JSON.stringify(await shown(scene)) !== JSON.stringify(before)) await scene.expectMirror("totals");
    await scene.replay("totals");
    await scene.expectMirror("totals");
  }
  for (const delay of DELAYS) {
    await move();
    await workers.run({ ...task, commit: 1, delay });
    expect(await scene.replay("totals")).toMatchObject({ took: expect.not.stringMatching("state") });
    await scene.expectMirror("totals");
  }
  expect((await scene.lake.consumers())[0]).toMatchObject({ windows: 0 });
});

async function shown(scene: MirrorScene): Promise<string[][]> {
  return scene.inTarget(`FROM target.${scene.schema}.totals ORDER BY ALL`);
}
