#!/usr/bin/env node
/**
 * Kills the real command line at random moments, strikes down its servers, fills its disk, cuts its answers short and
 * freezes it; after each, a rerun must end equal to the oracle, with nothing lost, doubled or half done.
 *
 *   node bench/crashes.mjs [--kills 500] [--strikes 40] [--cuts 40] [--fills 30] [--freezes 15] [--seed 1]
 *     [--kinds duckdb:folder,sqlite:folder,postgres:folder,postgres:s3,duckdb:s3] [--markdown]
 *
 * - kills: SIGKILL to `refresh`, `compact`, `apply`, `append`, `merge`, `maintain` and `replay` (into a DuckDB file, another lake
 *   and, with a PostgreSQL catalog, PostgreSQL), at a moment between the start and the end that an undisturbed run has.
 *   Runs that ended before they were killed do not count.
 * - strikes: PostgreSQL or MinIO is ended by SIGKILL or SIGTERM while a command runs, and started again.
 * - cuts: answers of PostgreSQL or MinIO are cut short after a random number of bytes, or delayed.
 * - fills: catalog, data, log and spill are on a file system of a few megabytes that is full up to a random rest. Needs
 *   the right to mount a tmpfs; skipped with a reason where there is none.
 * - freezes: SIGSTOP in the middle of a refresh, a `sweep` after the grace time, then SIGCONT.
 *
 * The oracle is DuckDB over the base tables at the horizon, in an instance of its own (see harness/).
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { failureOf } from "./harness/cli.mjs";
import { CrashScene } from "./harness/crash-scene.mjs";
import { postgresAddress } from "./harness/places.mjs";
import { Random } from "./harness/random.mjs";
import { Findings, printTable, say } from "./harness/report.mjs";
import { Servers } from "./harness/servers.mjs";
import { startTcpProxy } from "./harness/tcp-proxy.mjs";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "500" },
    strikes: { type: "string", default: "40" },
    cuts: { type: "string", default: "40" },
    fills: { type: "string", default: "30" },
    freezes: { type: "string", default: "15" },
    seed: { type: "string", default: "1" },
    kinds: { type: "string", default: "duckdb:folder,sqlite:folder,postgres:folder,postgres:s3,duckdb:s3" },
    markdown: { type: "boolean", default: false },
  },
});

/** With more deaths a lake has so many small files that each look at it takes long. */
const DEATHS_A_LAKE = 25;
/** How often logs and mirrors are looked at in full between. */
const FULL_CHECK_EVERY = 5;
const GRACE_MS = 6_000;

const random = new Random(Number(values.seed));
const findings = new Findings();
const servers = new Servers();
const kinds = values.kinds.split(",").map((kind) => {
  const [catalog, data] = kind.split(":");
  return { catalog, data, name: kind.replace(":", " catalog, data in ") };
});
const tally = new Map();
const abort = (signal) => servers.stop().finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => abort(signal));

try {
  await kills(Number(values.kills));
  await strikes(Number(values.strikes));
  await cuts(Number(values.cuts));
  await fills(Number(values.fills));
  await freezes(Number(values.freezes));
} catch (error) {
  findings.add(`the harness itself could not go on: ${error.stack}`);
} finally {
  await servers.stop();
}
printTable(
  [
    ["disturbance", "times", "left half done"],
    ...[...tally].map(([what, { times, note }]) => [what, times, note ?? "nothing"]),
  ],
  values.markdown,
);
const killed = [...tally].filter(([what]) => what.startsWith("SIGKILL")).reduce((sum, [, { times }]) => sum + times, 0);
console.log(`${killed} processes were killed.`);
findings.close();

function count(what, times = 1, note = undefined) {
  const before = tally.get(what)?.times ?? 0;
  tally.set(what, { times: before + times, note });
}

/** A scene of a kind, ready for its first disturbance. */
async function scene(kind, change = (made) => made) {
  const folder = mkdtempSync(join(tmpdir(), "ducklake-ivm-crashes-"));
  const name = `lake_${randomBytes(6).toString("hex")}`;
  const made = { folder, place: {} };
  const onServers = [...(kind.catalog === "postgres" ? ["postgres"] : []), ...(kind.data === "s3" ? ["s3"] : [])];
  await servers.start(...onServers);
  if (kind.catalog === "duckdb") made.place.catalog = join(folder, "catalog.ducklake");
  if (kind.catalog === "sqlite") made.place.catalog = `sqlite:${join(folder, "catalog.sqlite")}`;
  if (kind.catalog === "postgres") {
    made.place.catalog = postgresAddress(servers.endpoint("postgres"));
    made.place.metadataSchema = name;
  }
  made.place.dataPath = join(folder, "data");
  if (kind.data === "s3") {
    const { bucket, ...s3 } = servers.endpoint("s3");
    made.place = { ...made.place, dataPath: `s3://${bucket}/${name}/data/`, s3 };
    made.log = `s3://${bucket}/${name}/log`;
  }
  const target = kind.catalog === "postgres" ? servers.endpoint("postgres") : undefined;
  const found = new CrashScene(await change(made), random, target);
  try {
    await found.begin();
  } catch (error) {
    found.remove();
    throw error;
  }
  return found;
}

/** Lakes of all kinds in turn, with so many disturbances each, until there were enough. */
async function onLakes(chosen, total, perLake, work, change) {
  let left = total;
  for (let turn = 0; left > 0 && chosen.length > 0; turn += 1) {
    const kind = chosen[turn % chosen.length];
    const place = await scene(kind, change);
    try {
      const wanted = Math.min(left, perLake);
      const done = await work(place, kind, wanted);
      left -= done;
      if (done === 0) throw new Error(`nothing could be done on ${kind.name}`);
    } finally {
      place.remove();
    }
  }
}

async function kills(total) {
  let done = 0;
  await onLakes(kinds, total, DEATHS_A_LAKE, async (place, kind, wanted) => {
    /** What commands took when nobody disturbed them. */
    const times = new Map();
    let deaths = 0;
    for (let tries = 0; deaths < wanted && tries < 4 * wanted; tries += 1) {
      const name = random.pick(place.commands);
      const task = await place.prepare(name);
      const usual = times.get(name) ?? 1_500;
      const began = performance.now();
      const child = place.start(task.args);
      const timer = setTimeout(() => child.kill("SIGKILL"), random.between(0.2, 1.05) * usual);
      const outcome = await child.within(180_000);
      clearTimeout(timer);
      if (outcome.signal === null) {
        // It was faster: then it must have succeeded.
        times.set(name, performance.now() - began);
        if (outcome.code !== 0) report(`${kind.name}: ${name}, undisturbed`, [failureOf(outcome)]);
        if (task.halfDone === undefined) continue;
      } else {
        deaths += 1;
        count(`SIGKILL of \`${name}\`, ${kind.name}`);
      }
      await recover(`${kind.name}: SIGKILL of ${name}`, place, task, deaths % FULL_CHECK_EVERY === 0, times, name);
    }
    done += deaths;
    report(`${kind.name}: at the end`, [...(await place.settled()), ...(await place.mirrorsSettled())]);
    say(`${done} of ${total} processes killed (${kind.name}), ${findings.count} findings`);
    return deaths;
  });
}

/** Looks at what a disturbance left, runs the command again, and looks again. */
async function recover(what, place, task, thorough, times, name) {
  report(`${what}, before the rerun`, await place.consistent());
  const again = async () => {
    const began = performance.now();
    await place.must(task.args);
    times?.set(name, performance.now() - began);
  };
  try {
    if (task.halfDone === undefined) await again();
    else report(what, await task.halfDone(again));
    report(what, await place.settled());
    if (thorough) report(what, await place.mirrorsSettled());
  } catch (error) {
    report(what, [`the rerun: ${error.message}`]);
  }
}

function report(what, problems) {
  for (const problem of problems.slice(0, 3)) findings.add(`${what}: ${problem}`);
}

/** PostgreSQL or MinIO end and begin anew while a command runs. */
async function strikes(total) {
  const chosen = kinds.filter(({ catalog, data }) => catalog === "postgres" || data === "s3");
  if (chosen.length === 0 && total > 0)
    return count("servers that end and begin anew", 0, "skipped: no kind with a server");
  let done = 0;
  await onLakes(chosen, total, 8, async (place, kind, wanted) => {
    for (let strike = 0; strike < wanted; strike += 1) {
      const names = [...(kind.catalog === "postgres" ? ["postgres"] : []), ...(kind.data === "s3" ? ["s3"] : [])];
      const [server, signal] = [random.pick(names), random.pick(["SIGKILL", "SIGTERM"])];
      const name = random.pick(place.commands);
      const task = await place.prepare(name);
      const child = place.start(task.args);
      await delay(random.between(300, 1_500));
      await servers.strike(
        server,
        signal === "SIGTERM" && server === "postgres" ? "SIGINT" : signal,
        random.between(0, 600),
      );
      const outcome = await child.within(180_000);
      report(`${kind.name}: ${server} ended during ${name}`, CrashScene.misbehaviour(outcome));
      count(`${server === "s3" ? "MinIO" : "PostgreSQL"} ended by ${signal} and begun anew, ${kind.name}`);
      await recover(`${kind.name}: ${server} ended during ${name}`, place, task, strike % FULL_CHECK_EVERY === 0);
    }
    done += wanted;
    say(`${done} of ${total} times a server was ended (${kind.name}), ${findings.count} findings`);
    return wanted;
  });
}

/** Answers of a server are cut short or delayed on their way. */
async function cuts(total) {
  const chosen = kinds.filter(({ catalog, data }) => catalog === "postgres" || data === "s3");
  let done = 0;
  let proxies = [];
  const behind = async (made) => {
    proxies = [];
    const product = { ...made.place };
    if (made.place.metadataSchema !== undefined) {
      const server = servers.endpoint("postgres");
      const proxy = await startTcpProxy(`${server.host}:${server.port}`);
      product.catalog = postgresAddress({ ...server, port: proxy.endpoint.split(":")[1] });
      proxies.push({ name: "PostgreSQL", proxy });
    }
    if (made.place.s3 !== undefined) {
      const proxy = await startTcpProxy(made.place.s3.endpoint);
      product.s3 = { ...made.place.s3, endpoint: proxy.endpoint };
      proxies.push({ name: "MinIO", proxy });
    }
    const [...own] = proxies;
    return { ...made, product, remove: () => Promise.all(own.map(({ proxy }) => proxy.close())) };
  };
  await onLakes(
    chosen,
    total,
    8,
    async (place, kind, wanted) => {
      for (let cut = 0; cut < wanted; cut += 1) {
        const { name: server, proxy } = random.pick(proxies);
        const name = random.pick(place.commands.filter((command) => command !== "replay postgres"));
        const task = await place.prepare(name);
        const slow = random.below(4) === 0;
        // Most commands have some tens of thousands of bytes answered.
        proxy.rule(slow ? { kind: "delay", ms: random.between(5, 40) } : { kind: "cut", after: random.below(40_000) });
        const outcome = await place.run(task.args);
        proxy.rule({ kind: "pass" });
        const what = slow ? "answers delayed" : "an answer cut short";
        report(`${kind.name}: ${server}, ${what} during ${name}`, CrashScene.misbehaviour(outcome));
        if (slow && outcome.code !== 0) report(`${kind.name}: ${server}, ${what} during ${name}`, [failureOf(outcome)]);
        count(`${server}: ${what}, ${kind.name}`);
        await recover(`${kind.name}: ${server}, ${what} during ${name}`, place, task, cut % FULL_CHECK_EVERY === 0);
      }
      done += wanted;
      say(`${done} of ${total} times answers were cut or delayed (${kind.name}), ${findings.count} findings`);
      return wanted;
    },
    behind,
  );
}

/** Everything on a file system that is full. */
async function fills(total) {
  if (total === 0) return;
  const refusal = mountRefused();
  if (refusal !== undefined) {
    say(`full disks are skipped: ${refusal}`);
    count("a full disk", 0, `skipped: ${refusal}`);
    return;
  }
  const codes = new Map();
  const chosen = kinds.filter(({ catalog, data }) => catalog !== "postgres" && data === "folder");
  let done = 0;
  const onSmallDisk = (made) => {
    const disk = join(made.folder, "disk");
    mountTmpfs(disk, "96m");
    const catalog = made.place.catalog.replace(made.folder, disk);
    const place = { ...made.place, catalog, dataPath: join(disk, "data") };
    return { ...made, place, folder: disk, log: join(disk, "log"), remove: () => unmount(disk, made.folder) };
  };
  await onLakes(
    chosen,
    total,
    10,
    async (place, kind, wanted) => {
      for (let fill = 0; fill < wanted; fill += 1) {
        const name = random.pick(place.commands);
        const task = await place.prepare(name);
        const filler = join(place.folder, "filler");
        const { bavail, bsize } = statfsSync(place.folder);
        const rest = random.below(random.pick([8, 64, 512])) * 1024;
        writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - rest)));
        const outcome = await place.run(task.args);
        rmSync(filler);
        report(`${kind.name}: full disk during ${name}`, CrashScene.misbehaviour(outcome));
        const code = outcome.code === 0 ? "done all the same" : (codeOf(outcome) ?? "no code");
        codes.set(code, (codes.get(code) ?? 0) + 1);
        count(`a full disk, ${kind.name}`);
        await recover(`${kind.name}: full disk during ${name}`, place, task, fill % FULL_CHECK_EVERY === 0);
      }
      done += wanted;
      say(`${done} of ${total} full disks (${kind.name}), ${findings.count} findings; ${[...codes].join(" ")}`);
      return wanted;
    },
    onSmallDisk,
  );
}

function codeOf({ json }) {
  return json?.error?.code ?? json?.views?.find((view) => view.error)?.error.code;
}

function mountRefused() {
  const folder = mkdtempSync(join(tmpdir(), "ducklake-ivm-mount-"));
  try {
    if (process.platform !== "linux") return "no tmpfs on this system";
    mountTmpfs(folder, "1m");
    execFileSync("umount", [folder]);
    return undefined;
  } catch (error) {
    return `mounting is not allowed (${
      String(error.stderr ?? error.message)
        .trim()
        .split("\n")[0]
    })`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function mountTmpfs(folder, size) {
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "ducklake-ivm", folder], { stdio: "pipe" });
}

function unmount(disk, folder) {
  execFileSync("umount", [disk], { stdio: "pipe" });
  rmSync(folder, { recursive: true, force: true });
}

/** A refresh that is frozen while another process sweeps what it may still commit. */
async function freezes(total) {
  const chosen = kinds.filter(({ catalog }) => catalog !== "duckdb");
  let done = 0;
  await onLakes(
    chosen,
    total,
    5,
    async (place, kind, wanted) => {
      let usual = 1_500;
      for (let freeze = 0; freeze < wanted; freeze += 1) {
        const task = await place.prepare("refresh");
        const child = place.start(task.args);
        // Late, since what is written first is registered last.
        await delay(random.between(0.5, 1) * usual);
        const frozen = child.kill("SIGSTOP");
        if (frozen) await delay(GRACE_MS + 500);
        // Where the frozen one holds the catalog the sweep may have to give up, which it does after a minute.
        const sweep = place.start(["sweep"]);
        const swept = await sweep.within(120_000);
        report(
          `${kind.name}: sweep beside a frozen refresh`,
          swept.hung ? ["it hung"] : CrashScene.misbehaviour(swept),
        );
        child.kill("SIGCONT");
        const outcome = await child.within(180_000);
        if (!frozen) usual = outcome.elapsedMs;
        report(`${kind.name}: a refresh that was frozen`, CrashScene.misbehaviour(outcome));
        if (frozen) count(`a refresh frozen for longer than the grace time beside a sweep, ${kind.name}`);
        await recover(`${kind.name}: a refresh that was frozen`, place, task, true);
      }
      report(`${kind.name}: after all sweeps`, await place.strays(GRACE_MS));
      done += wanted;
      say(`${done} of ${total} frozen refreshes (${kind.name}), ${findings.count} findings`);
      return wanted;
    },
    (made) => ({ ...made, grace: `${GRACE_MS / 1000}s` }),
  );
}
