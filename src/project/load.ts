/** A project: a folder with `ducklake-ivm.yaml` and a folder of view files. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { LakeConfig, OpenLineageConfig, ViewDefinition } from "../types.js";
import { CONFIG_FILE, readConfig } from "./config.js";
import type { Environment } from "./environment.js";
import { readText, systemCode } from "./files.js";
import { type Problem, Problems, ProjectError } from "./problems.js";
import { readViews } from "./views.js";

/** A lake and the views to keep in it, as the files of a project say. */
export interface Project {
  /** Absolute path of the folder that holds `ducklake-ivm.yaml`. */
  readonly directory: string;
  readonly lake: LakeConfig;
  /** By name. */
  readonly views: readonly ViewDefinition[];
  /** Absolute path of the file that refreshes write metrics to. */
  readonly metrics?: string;
  /** Where refreshes send events of lineage. */
  readonly openLineage?: OpenLineageConfig;
  /** Absolute path of the folder that refreshes leave `run_results.json` in; left out where they leave none. */
  readonly target?: string;
}

/** As OpenLineage's own clients name it. */
const API_KEY = "OPENLINEAGE_API_KEY";

/**
 * Reads a project's files. Nothing is opened but files.
 *
 * @param directory The folder that holds `ducklake-ivm.yaml`.
 * @param env Where `${NAME}` in the configuration is looked up.
 * @throws ProjectError that lists all problems found, each with its place.
 */
export async function loadProject(directory: string, env: Environment = process.env): Promise<Project> {
  const problems = new Problems();
  const root = resolve(directory);
  const file = join(root, CONFIG_FILE);
  const read = await readText(file);
  if ("problem" in read) {
    throw new ProjectError([(await isMissing(file)) ? await missingConfig(root, file) : read.problem]);
  }
  const config = readConfig({ file, text: read.text, directory: root }, env, problems);
  if (config === undefined) {
    // The folder of the views is not known for sure.
    throw new ProjectError(problems.found);
  }
  const views = await readViews(config.views, problems);
  if (problems.count > 0) {
    throw new ProjectError(problems.found);
  }
  const { lake, floatSums, targetLagMs, metrics, openLineage, target } = config;
  const defaults = {
    ...(floatSums === undefined ? {} : { floatSums }),
    ...(targetLagMs === undefined ? {} : { targetLagMs }),
  };
  const complete = views.map((view) => ({ ...defaults, ...view }));
  const apiKey = env[API_KEY];
  return {
    directory: root,
    lake,
    views: complete,
    ...(metrics === undefined ? {} : { metrics }),
    ...(target === undefined ? {} : { target }),
    ...(openLineage === undefined
      ? {}
      : { openLineage: { ...openLineage, ...(apiKey === undefined ? {} : { apiKey }) } }),
  };
}

async function missingConfig(root: string, file: string): Promise<Problem> {
  const code = "config_not_found";
  if (await isMissing(root)) {
    return { code, message: "the project's folder does not exist", hint: "Correct --project-dir.", file: root };
  }
  if (!(await isMissing(join(root, "ducklake-ivm.yml")))) {
    return { code, message: "does not exist, but ducklake-ivm.yml does", hint: `Rename it to ${CONFIG_FILE}.`, file };
  }
  const hint = 'Run "ducklake-ivm init", or name the project\'s folder with --project-dir.';
  return { code, message: "there is no project here: the file does not exist", hint, file };
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (error) {
    return systemCode(error) === "ENOENT";
  }
}
