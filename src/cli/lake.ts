/** The project and its lake for the length of one command. */
import type { Lake, OpenOptions } from "../index.js";
import type { Project } from "../project/load.js";
import type { Session } from "./context.js";

/** Reads the project's files. */
export async function readProject(session: Session): Promise<Project> {
  const { loadProject } = await import("../project/load.js");
  return loadProject(session.projectDirectory, session.env);
}

interface LakeUse extends Pick<OpenOptions, "readOnly"> {
  /** True where the command makes a lake that does not exist yet; a mistyped catalog must not give an empty one. */
  readonly makes?: boolean;
  /** The project, where it was read already. */
  readonly project?: Project;
}

/** Opens the project's lake, does the work and closes the lake whatever happens. */
export async function withLake<T>(
  session: Session,
  work: (lake: Lake, project: Project) => Promise<T>,
  { project: known, makes = false, ...options }: LakeUse = {},
): Promise<T> {
  const project = known ?? (await readProject(session));
  const { open } = await import("../index.js");
  const access = { logger: session.logger, mustExist: !makes, ...options };
  const lake = await open({ ...project.lake, ...session.lakeOptions }, access);
  let result: T;
  try {
    result = await work(lake, project);
  } catch (error) {
    // The first error is the one that matters.
    await lake.close().catch(() => undefined);
    throw error;
  }
  await lake.close();
  return result;
}
