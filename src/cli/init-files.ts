/** The files that `init` writes. */
import { access, mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ConfigError } from "../errors.js";

/** The package's schema of the configuration, from a folder in which the package is installed. */
const SCHEMA = "node_modules/ducklake-ivm/schemas/project.v1.json";

const CONFIG = (schema: string): string => `# yaml-language-server: $schema=${schema}
# A project of ducklake-ivm: a lake, and the SQL views to keep in it.
# Paths are relative to this file. \${NAME} is replaced by the environment variable NAME.

lake:
  # The DuckLake catalog. One of
  #   lake.ducklake                       a DuckDB file, for one process at a time
  #   sqlite:lake.sqlite                  a SQLite file
  #   postgres:dbname=lake host=db        PostgreSQL; the password best comes from PGPASSWORD
  catalog: lake.ducklake
  # Where the lake's Parquet files are: a folder or s3://bucket/prefix.
  # Leave it out for a lake that exists: the lake knows.
  data_path: lake_files
  # The schema of the lake's metadata tables, where it isn't the catalog's default:
  # metadata_schema: lake

# For S3-compatible storage. Keys come from the AWS credential chain (environment, profile, role), not from here.
# s3:
#   endpoint: localhost:9000
#   region: us-east-1
#   url_style: path
#   use_ssl: false

# The folder with the views, one .sql file each:
# views: views

# Where refreshes leave run_results.json, for other programs:
# target_path: target

# The schema of the lake that the views appear in, and the one for this tool's own tables:
# schema: main
# state_schema: ivm

# Where change logs go:
# log:
#   path: s3://bucket/logs

# What DuckDB is given:
# engine:
#   threads: 4
#   memory_limit: 4GB
#   temp_directory: /var/tmp
#   extension_directory: extensions
`;

const VIEW = `/* ---
# Columns that identify a row; checked at every refresh. May be left out.
primary_key: fruit
# auto (the default), incremental or full
refresh: auto
--- */

-- The view is named after this file: example. It works on any lake; put a query over your own tables in its place.
SELECT fruit, count(*) AS orders, sum(quantity) AS quantity
FROM (VALUES ('apple', 3), ('pear', 5), ('apple', 4)) AS orders (fruit, quantity)
GROUP BY fruit
`;

const IGNORED = `# What runs leave behind
target/
`;

export interface InitFile {
  readonly file: string;
  /** False where the file was there already. */
  readonly created: boolean;
}

/** Writes the files that are not there yet. */
export async function writeProject(directory: string): Promise<{ readonly files: readonly InitFile[] }> {
  const written: readonly (readonly [string, string])[] = [
    ["ducklake-ivm.yaml", CONFIG(await schemaFrom(directory))],
    [join("views", "example.sql"), VIEW],
    [".gitignore", IGNORED],
  ];
  const files: InitFile[] = [];
  for (const [name, text] of written) {
    const file = join(directory, name);
    files.push({ file, created: await createFile(file, text) });
  }
  return { files };
}

/** The schema's path as the configuration names it: in the nearest folder above that has this package. */
async function schemaFrom(directory: string): Promise<string> {
  let folder = resolve(directory);
  for (let path = `./${SCHEMA}`; ; path = path.replace(/^(\.\/)?/, "../")) {
    if (await isThere(join(folder, SCHEMA))) return path;
    if (dirname(folder) === folder) return `./${SCHEMA}`;
    folder = dirname(folder);
  }
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

async function createFile(file: string, text: string): Promise<boolean> {
  try {
    await mkdir(dirname(file), { recursive: true });
  } catch (error) {
    throw unwritable(file, error);
  }
  try {
    await writeFile(file, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") {
      return false;
    }
    throw unwritable(file, error);
  }
}

function unwritable(file: string, error: unknown): ConfigError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ConfigError("file_unwritable", `Can't write ${file}: ${reason}`, {
    subject: { file },
    hint: "Name a folder that may be written with --project-dir.",
    cause: error,
  });
}
