/** `npm test`: all tests, from a fresh clone. Further arguments go to vitest: `npm test -- --project unit`. */
import { prepare, run } from "./prepare.mjs";

await prepare();
process.exitCode = await run(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...process.argv.slice(2)]);
