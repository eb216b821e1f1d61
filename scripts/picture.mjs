/** `npm run picture`: docs/report-light.png and -dark.png, the report of the demo's lake in a browser. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findChromium, launchChromium } from "../infra/chromium.mjs";
import { prepare, ROOT, run } from "./prepare.mjs";

const SIZE = { width: 1180, height: 1120 };

async function command(...words) {
  const code = await run(process.execPath, [join(ROOT, "dist/cli/main.js"), ...words]);
  if (code !== 0) throw new Error(`${words[0]} ended with ${code}`);
}

await prepare();
const folder = await mkdtemp(join(tmpdir(), "ducklake-ivm-picture-"));
try {
  const demo = join(folder, "flights");
  const page = join(folder, "report.html");
  await command("demo", "--dir", demo, "--keep");
  await command("report", "--project-dir", demo, "--out", page, "--title", "flights");
  const { browser, close } = await launchChromium(await findChromium());
  try {
    for (const colorScheme of ["light", "dark"]) {
      const tab = await browser.newPage({ viewport: SIZE, colorScheme });
      await tab.goto(pathToFileURL(page).href);
      await tab.screenshot({ path: join(ROOT, `docs/report-${colorScheme}.png`) });
    }
  } finally {
    await close();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
