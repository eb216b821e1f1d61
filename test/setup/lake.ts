import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import type { Endpoints } from "../../infra/services.mjs";
import type { LakeConfig } from "../../src/types.js";

export interface LakeKind {
  readonly catalog: "duckdb" | "sqlite" | "postgres";
  readonly data: "folder" | "s3";
}

export interface TempLake extends AsyncDisposable {
  readonly config: LakeConfig;
  /** A folder of this lake's own, for anything else that a test writes. */
  readonly folder: string;
  /** Removes the folder. What is in PostgreSQL and in MinIO goes with the servers, at the end of the run. */
  cleanup(): Promise<void>;
}

/**
 * The configuration of a lake that does not exist yet and shares nothing with any other: `open` creates it.
 *
 * One process must open a catalog that is a DuckDB file with one DuckDB instance only, so tests take their writers'
 * connections from `lake.connect()`. PostgreSQL and S3 are there in files named `*.services.test.ts`.
 */
export async function tempLake(kind: LakeKind = { catalog: "duckdb", data: "folder" }): Promise<TempLake> {
  const folder = await mkdtemp(join(inject("workspace"), "lake-"));
  const cleanup = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  const name = `lake_${randomBytes(8).toString("hex")}`;
  const config = { ...catalogConfig(kind, folder, name), ...dataConfig(kind, folder, name) };
  return { config, folder, cleanup, [Symbol.asyncDispose]: cleanup };
}

/** Each kind of lake: for suites that must hold on all of them. */
export const LAKE_KINDS: readonly LakeKind[] = (["duckdb", "sqlite", "postgres"] as const).flatMap((catalog) =>
  (["folder", "s3"] as const).map((data) => ({ catalog, data })),
);

function catalogConfig({ catalog }: LakeKind, folder: string, name: string): LakeConfig {
  if (catalog === "duckdb") return { catalog: join(folder, "catalog.ducklake") };
  if (catalog === "sqlite") return { catalog: `sqlite:${join(folder, "catalog.sqlite")}` };
  const { database, host, port, user, password } = services().postgres;
  return {
    catalog: `postgres:dbname=${database} host=${host} port=${port} user=${user} password=${password}`,
    metadataSchema: name,
  };
}

function dataConfig({ data }: LakeKind, folder: string, name: string): Partial<LakeConfig> {
  if (data === "folder") return { dataPath: join(folder, "data") };
  const { bucket, ...s3 } = services().s3;
  return { dataPath: `s3://${bucket}/${name}/`, s3 };
}

function services(): Endpoints {
  const endpoints = inject("services");
  if (endpoints === undefined) {
    throw new Error("PostgreSQL and S3 are only there in test files named *.services.test.ts");
  }
  return endpoints;
}
