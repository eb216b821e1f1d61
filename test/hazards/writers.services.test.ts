/** Several programs at one lake at the same time, which takes a catalog that serves them. */

import { expect, test } from "vitest";
import { open } from "../../src/index.js";
import { Scene } from "./scene.js";

test("two programs that refresh at once apply a window once", async () => {
  await using scene = await Scene.start({ kind: { catalog: "postgres", data: "folder" } });
  await scene.sql("CREATE TABLE t(k INT, v INT)", "INSERT INTO t VALUES (1, 1), (1, 1), (2, 2)");
  await scene.define({ totals: "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k", flat: "SELECT v FROM t" });
  await using other = await open(scene.place.config);
  for (let round = 0; round < 4; round++) {
    await scene.sql(`INSERT INTO t VALUES (1, ${round}), (1, ${round})`, "DELETE FROM t WHERE k = 2");
    const outcomes = await Promise.allSettled([scene.lake.refresh(), other.refresh()]);
    for (const outcome of outcomes) {
      // The loser either waited and found nothing to do, or says that it lost and may try again.
      const errors =
        outcome.status === "fulfilled" ? outcome.value.views.flatMap((view) => view.error ?? []) : [outcome.reason];
      for (const error of errors) expect(error.retryable, error.message).toBe(true);
    }
    await scene.refresh();
  }
});
