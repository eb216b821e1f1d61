/** A project on a lake that several processes use at once, the test among them. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { type Lake, type LakeConfig, open } from "../../src/index.js";
import { folder } from "../project/files.js";
import { type LakeKind, type TempLake, tempLake } from "../setup/lake.js";

export class SharedProject implements AsyncDisposable {
  private constructor(
    /** The project's folder. */
    readonly cwd: string,
    /** The environment that its commands need: all its secrets. */
    readonly env: Readonly<Record<string, string>>,
    readonly config: LakeConfig,
    readonly lake: Lake,
    readonly connection: DuckDBConnection,
    private readonly place: TempLake,
  ) {}

  /**
   * @param views the SQL of each view, by name.
   * @param settings sections of the configuration besides `lake` and `s3`, as YAML.
   */
  static async start(
    kind: LakeKind,
    tables: readonly string[],
    views: Readonly<Record<string, string>>,
    settings = "",
  ): Promise<SharedProject> {
    const place = await tempLake(kind);
    const lake = await open(place.config);
    const connection = await lake.connect();
    for (const statement of tables) await connection.run(statement);
    const files = Object.entries(views).map(([name, sql]) => [`views/${name}.sql`, sql] as const);
    const cwd = await folder({ "views/.keep": "", ...Object.fromEntries(files) });
    await writeFile(join(cwd, "ducklake-ivm.yaml"), `${configText(place.config)}\n${settings}`);
    return new SharedProject(cwd, environmentOf(place.config), place.config, lake, connection, place);
  }

  get options(): { readonly cwd: string; readonly env: Readonly<Record<string, string>> } {
    return { cwd: this.cwd, env: this.env };
  }

  /** Runs statements as any other program would, and gives the rows of the last one. */
  async sql(...statements: readonly string[]): Promise<unknown[][]> {
    let rows: unknown[][] = [];
    for (const statement of statements) rows = (await this.connection.runAndReadAll(statement)).getRowsJS();
    return rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.closeSync();
    await this.lake.close();
    await this.place.cleanup();
  }
}

const PASSWORD = / password=(\S+)/;

/** The configuration without its secrets, which the environment has. */
function configText({ catalog, dataPath, metadataSchema, s3 }: LakeConfig): string {
  const lines = [
    "lake:",
    `  catalog: ${JSON.stringify(catalog.replace(PASSWORD, ""))}`,
    ...(dataPath === undefined ? [] : [`  data_path: ${JSON.stringify(dataPath)}`]),
    ...(metadataSchema === undefined ? [] : [`  metadata_schema: ${metadataSchema}`]),
    ...(s3?.endpoint === undefined ? [] : [`s3: { endpoint: "http://${s3.endpoint}", url_style: path }`]),
  ];
  return lines.join("\n");
}

function environmentOf({ catalog, s3 }: LakeConfig): Record<string, string> {
  const [, password] = PASSWORD.exec(catalog) ?? [];
  return {
    ...(password === undefined ? {} : { PGPASSWORD: password }),
    ...(s3?.accessKeyId === undefined
      ? {}
      : {
          AWS_ACCESS_KEY_ID: s3.accessKeyId,
          AWS_SECRET_ACCESS_KEY: s3.secretAccessKey ?? "",
          AWS_REGION: s3.region ?? "",
          AWS_EC2_METADATA_DISABLED: "true",
        }),
  };
}
