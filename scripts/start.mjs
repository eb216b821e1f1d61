/** `npm start`: the demo, from a fresh clone. */
import { prepare, run } from "./prepare.mjs";

await prepare();
process.exitCode = await run(process.execPath, ["dist/cli/main.js", "demo", ...process.argv.slice(2)]);
