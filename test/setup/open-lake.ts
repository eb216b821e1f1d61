import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { type Lake, type LakeConfig, type LogConfig, open } from "../../src/index.js";
import { type TempLake, tempLake } from "./lake.js";

/** A lake of its own that is open, with a connection to it. Both are closed, and the lake removed, at the end. */
export class OpenLake implements AsyncDisposable {
  private constructor(
    private readonly place: TempLake,
    readonly lake: Lake,
    readonly connection: DuckDBConnection,
  ) {}

  /**
   * @param config is put over the configuration of a lake that is a DuckDB file and a folder.
   * @param log with change logs in that folder, kept by these rules.
   */
  static async start(config: Partial<LakeConfig> = {}, log?: LogConfig): Promise<OpenLake> {
    const place = await tempLake();
    const logged = log === undefined ? {} : { log: { path: join(place.folder, "logs"), ...log } };
    const lake = await open({ ...place.config, ...config, ...logged });
    return new OpenLake(place, lake, await lake.connect());
  }

  /** A folder of the lake's own, for anything else that a test writes. */
  get folder(): string {
    return this.place.folder;
  }

  /** Runs one statement and gives its rows. */
  async rows(sql: string): Promise<unknown[][]> {
    return (await this.connection.runAndReadAll(sql)).getRowsJS();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.closeSync();
    await this.lake.close();
    await this.place.cleanup();
  }
}
