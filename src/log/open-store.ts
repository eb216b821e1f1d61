import type { LakeConfig } from "../types.js";
import { FolderStore } from "./folder-store.js";
import { S3Store } from "./s3-store.js";
import type { ObjectStore } from "./store.js";

/** The store at `log.path`; undefined where no change logs are kept. */
export function openStore(config: LakeConfig): ObjectStore | undefined {
  const path = config.log?.path;
  if (path === undefined) return undefined;
  if (path.startsWith("s3://")) return new S3Store(path, config.s3 ?? {}, config.engine?.tempDirectory);
  return new FolderStore(path);
}
