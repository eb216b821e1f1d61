/** A real Airflow, from pip: its home in a folder of the test's own, and the DAG of one project on a lake. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { BINARY } from "../cli/command.js";
import { folder } from "../project/files.js";
import { pythonEnvironment } from "../setup/python.js";
import type { SharedProject } from "../trust/shared-project.js";

export const FACTORY = fileURLToPath(new URL("../../infra/airflow/", import.meta.url));
const DAG = "shop";

export function airflowEnvironment(): Promise<string> {
  return pythonEnvironment("airflow", new URL("requirements.txt", import.meta.url));
}

/** A task of one DAG run. */
interface TaskRun {
  readonly state: string | null;
  readonly tries: number;
  readonly start: string | null;
  readonly end: string | null;
}

export interface DagRun {
  readonly state: string;
  /** By the part of the task's id after the group. */
  readonly tasks: Readonly<Record<string, TaskRun>>;
  /** URI and extra of each asset event. */
  readonly events: readonly (readonly [string, { readonly snapshot: string }])[];
}

export class Airflow {
  private constructor(
    private readonly bin: string,
    readonly home: string,
    private readonly env: Readonly<Record<string, string | undefined>>,
  ) {}

  /**
   * @param command how the tasks run ducklake-ivm.
   * @param settings further settings of Airflow, by the name of the environment variable.
   */
  static async start(
    project: SharedProject,
    { command = [process.execPath, BINARY], settings = {} }: StartOptions = {},
  ): Promise<Airflow> {
    const bin = await airflowEnvironment();
    const home = await folder();
    await mkdir(join(home, "dags"));
    const env = {
      ...airflowSettings(home),
      ...connections(project.env),
      ...settings,
      PATH: [bin, process.env["PATH"]].join(delimiter),
    };
    const airflow = new Airflow(bin, home, env);
    await airflow.program("db", "migrate");
    await writeFile(join(home, "dags", "shop.py"), dagFile(home, project.cwd, command));
    return airflow;
  }

  /** Runs the DAG with `airflow dags test`; gives its exit code too, and everything that it printed. */
  async test(): Promise<DagRun & { readonly exitCode: number | undefined; readonly log: string }> {
    const { exitCode, all } = await this.run(["dags", "test", DAG]);
    return { ...(await this.lastRun()), exitCode, log: all };
  }

  /** Runs one of Airflow's commands to its end. */
  async program(...words: readonly string[]): Promise<void> {
    const { exitCode, all } = await this.run(words);
    if (exitCode !== 0) throw new Error(`airflow ${words.join(" ")} ended with exit code ${exitCode}:\n${all}`);
  }

  /** Starts one of Airflow's servers. */
  serve(words: readonly string[], env: Readonly<Record<string, string>>) {
    const options = { ...this.options, env: { ...this.options.env, ...env }, reject: false } as const;
    return execa(this.python, ["-m", "airflow", ...words], { ...options, stdout: "ignore", stderr: "ignore" });
  }

  private run(words: readonly string[]) {
    return execa(this.python, ["-m", "airflow", ...words], { ...this.options, all: true, reject: false });
  }

  private get python(): string {
    return join(this.bin, "python");
  }

  private get options() {
    const env = { PYTHONPATH: FACTORY, PYTHONDONTWRITEBYTECODE: "1", ...this.env };
    return { env, cwd: this.home, stdin: "ignore" } as const;
  }

  /** What Airflow's own database says of the newest run. */
  async lastRun(): Promise<DagRun> {
    const { stdout } = await execa(this.python, ["-c", LAST_RUN, join(this.home, "airflow.db")]);
    return JSON.parse(stdout) as DagRun;
  }

  /** Everything in the logs of tasks, as files. */
  async taskLogs(): Promise<string> {
    const entries = await readdir(join(this.home, "logs"), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && entry.name.startsWith("attempt="));
    const texts = await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "utf8")));
    return texts.join("\n");
  }
}

interface StartOptions {
  readonly command?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
}

function airflowSettings(home: string): Record<string, string> {
  return {
    AIRFLOW_HOME: home,
    AIRFLOW__CORE__LOAD_EXAMPLES: "False",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN: `sqlite:///${join(home, "airflow.db")}`,
    AIRFLOW__USAGE_DATA_COLLECTION__ENABLED: "False",
    NO_COLOR: "1",
  };
}

/** The lake's secrets, as Airflow's connections only. */
function connections(env: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return {
    AIRFLOW_CONN_LAKE: JSON.stringify({ conn_type: "postgres", password: env["PGPASSWORD"] }),
    AIRFLOW_CONN_STORE: JSON.stringify({
      conn_type: "aws",
      login: env["AWS_ACCESS_KEY_ID"],
      password: env["AWS_SECRET_ACCESS_KEY"],
      extra: { region_name: env["AWS_REGION"] },
    }),
    PGPASSWORD: undefined,
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_EC2_METADATA_DISABLED: "true",
  };
}

function dagFile(home: string, project: string, command: readonly string[]): string {
  return `from datetime import datetime, timedelta

from ducklake_ivm_airflow import Project, refresh_dag

dag = refresh_dag(
    "${DAG}",
    plan_file=${JSON.stringify(join(home, "plan.json"))},
    project=Project(${JSON.stringify(project)}, ${JSON.stringify(command)}, postgres_conn_id="lake", aws_conn_id="store"),
    skip_unchanged=True,
    asset_prefix="ducklake://shop",
    retry_delay=timedelta(seconds=1),
    schedule=None,
    start_date=datetime(2026, 1, 1),
)
`;
}

const LAST_RUN = `
import json, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
run_id, state = database.execute("SELECT run_id, state FROM dag_run ORDER BY id DESC LIMIT 1").fetchone()
tasks = database.execute(
    "SELECT task_id, state, try_number, start_date, end_date FROM task_instance WHERE run_id = ?", [run_id]
)
events = database.execute(
    "SELECT a.uri, e.extra FROM asset_event e JOIN asset a ON a.id = e.asset_id WHERE e.source_run_id = ? ORDER BY 1", [run_id]
)
print(json.dumps({
    "state": state,
    "tasks": {task.split(".")[1]: dict(zip(["state", "tries", "start", "end"], rest)) for task, *rest in tasks},
    "events": [[uri, json.loads(extra)] for uri, extra in events],
}))
`;
