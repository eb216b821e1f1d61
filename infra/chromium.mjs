/** A browser for tests of the report and for its picture: Debian's Chromium. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { execute, findProgram, say } from "./process.mjs";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** What a browser in a sandbox of its own, without a network, is started with. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The browser's program, which is installed where it is missing and may be. */
export async function findChromium() {
  return (await onPath()) ?? (await installChromium());
}

async function onPath() {
  for (const name of NAMES) {
    const found = await findProgram(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function installChromium() {
  const apt = await findProgram("apt-get");
  if (process.getuid?.() !== 0 || apt === undefined) {
    throw new Error("Chromium is not installed. Install it (Debian: chromium) to run the tests of the report.");
  }
  say("installing Chromium from Debian's packages …");
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, maxBuffer: 64 * 1024 * 1024 };
  await execute(apt, ["-q", "update"], options);
  await execute(apt, ["-q", "-y", "--no-install-recommends", "install", "chromium", "fonts-dejavu-core"], options);
  const program = await onPath();
  if (program === undefined) throw new Error("apt-get installed chromium, but PATH does not have it");
  return program;
}

/** Starts a browser with a profile of its own. */
export async function launchChromium(executablePath) {
  const profile = await mkdtemp(join(tmpdir(), "ducklake-ivm-chromium-"));
  const browser = await chromium.launch({ executablePath, args: [...FLAGS, `--disk-cache-dir=${profile}`] });
  const close = async () => {
    await browser.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 3 });
  };
  return { browser, close };
}
