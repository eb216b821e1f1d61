/** What a process leaves behind that dies within its transaction. */
import { expect } from "vitest";
import { open } from "../../src/index.js";
import { Worker } from "../crash/process.js";
import { ENGINE, TABLES, VIEWS } from "../crash/scene.js";
import { type LakeKind, tempLake } from "../setup/lake.js";

/** Nothing of a dead process is waited for: the next run goes on at once, with no patience at all. */
export async function expectNoLock(kind: LakeKind): Promise<void> {
  await using place = await tempLake(kind);
  const config = { ...place.config, engine: ENGINE };
  const change = async (...statements: readonly string[]): Promise<void> => {
    await using lake = await open(config);
    const connection = await lake.connect();
    for (const statement of statements) await connection.run(statement);
    connection.closeSync();
  };
  await change(...TABLES);
  const run = async (): Promise<readonly string[]> => {
    const outcome = await (await Worker.start(config, false)).run({ action: "refresh" });
    return outcome.killed ? [] : outcome.statements;
  };
  await (await Worker.start(config, false)).run({ action: "define", definitions: VIEWS });
  await run();
  const insert = "INSERT INTO a SELECT i, i % 3 FROM range(20) r(i)";
  await change(insert);
  const statements = await run();
  const updates = statements.findIndex((sql) => sql.startsWith("UPDATE"));
  expect(updates).toBeGreaterThan(0);
  // One step after the row that guards the view was written; then while the commit is under way.
  for (const step of [{ before: updates + 2 }, { commit: 2, delay: 0 }]) {
    await change(insert);
    expect(await (await Worker.start(config, false)).run({ action: "refresh", ...step })).toEqual({ killed: true });
    await using lake = await open({ ...config, retryForMs: 0 });
    const result = await lake.refresh();
    expect(result.views.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect((await lake.verify()).map(({ ok }) => ok)).toEqual(VIEWS.map(() => true));
  }
}
