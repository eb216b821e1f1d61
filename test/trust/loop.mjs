/**
 * A program that does the same thing to a lake again and again, beside others that do. Its argument is JSON:
 * `{config, action, rounds, seed}`; its last line is what came of it.
 */
import { open } from "../../dist/index.js";

const revive = (key, value) => (key === "snapshots" ? BigInt(value) : value);
const { config, action, rounds, seed } = JSON.parse(process.env.LOOP_TASK, revive);
const lake = await open(config);
const connection = action === "write" ? await lake.connect() : undefined;
const told = { refreshed: 0, unchanged: 0, conflicts: 0, errors: [] };

const tell = (error) => {
  if (error.retryable) told.conflicts += 1;
  else told.errors.push(`${error.code}: ${error.message}`);
};

const actions = {
  async refresh() {
    for (const { status, error } of (await lake.refresh()).views) {
      if (error === null) told[status] += 1;
      else if (error.code !== "upstream_failed") tell(error);
    }
  },
  async compact() {
    await lake.compact();
  },
  async write(round) {
    const n = seed * 1000 + round;
    const sql = [
      `INSERT INTO a SELECT (${n} + i) % 40, ${n} FROM range(15) r(i)`,
      `DELETE FROM a WHERE id = ${n % 40}`,
      `UPDATE b SET w = w + 1 WHERE id % 9 = ${n % 9}`,
    ][round % 3];
    // Other writers are none of the product's business: these give up.
    await connection.run(sql).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
  },
};

for (let round = 0; round < rounds; round += 1) {
  try {
    await actions[action](round);
  } catch (error) {
    tell(error);
  }
}
connection?.closeSync();
await lake.close();
process.stdout.write(`${JSON.stringify(told)}\n`);
