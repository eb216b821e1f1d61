/** Lakes of every kind for the programs of this folder, each of its own. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServices } from "../../infra/services.mjs";

let services;

/** PostgreSQL and MinIO, started once; they end with this program at the latest. */
function endpoints() {
  services ??= startServices();
  return services.then((started) => started.endpoints);
}

/** A lake that does not exist yet, in a folder that goes with it. */
export async function makePlace({ catalog, data }) {
  const folder = mkdtempSync(join(tmpdir(), "ducklake-ivm-bench-"));
  const name = `lake_${randomBytes(6).toString("hex")}`;
  const place = {
    ...(await catalogOf(catalog, folder, name)),
    ...(await dataOf(data, folder, name)),
  };
  return { place, folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

async function catalogOf(catalog, folder, name) {
  if (catalog === "duckdb") return { catalog: join(folder, "catalog.ducklake") };
  if (catalog === "sqlite") return { catalog: `sqlite:${join(folder, "catalog.sqlite")}` };
  if (catalog !== "postgres") throw new Error(`no such catalog: ${catalog}`);
  return { catalog: postgresAddress((await endpoints()).postgres), metadataSchema: name };
}

export function postgresAddress({ database, host, port, user, password }) {
  return `postgres:dbname=${database} host=${host} port=${port} user=${user} password=${password}`;
}

async function dataOf(data, folder, name) {
  if (data === "folder") return { dataPath: join(folder, "data") };
  const { bucket, ...s3 } = (await endpoints()).s3;
  return { dataPath: `s3://${bucket}/${name}/`, s3 };
}
