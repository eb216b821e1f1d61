import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import pLimit from "p-limit";
import { LakeError } from "../errors.js";
import { inScratchFolder, type ObjectStore, SIDE_BY_SIDE, type StoredObject, type TaggedText } from "./store.js";

/** A log root in a folder of this machine, or of a file system that several machines mount. */
export class FolderStore implements ObjectStore {
  private readonly limit = pLimit(SIDE_BY_SIDE);

  constructor(private readonly root: string) {}

  address(name: string): string {
    return join(this.root, ...name.split("/"));
  }

  write<Result>(name: string, produce: (path: string) => Promise<Result>): Promise<Result> {
    return this.translating("write", name, async () => {
      const path = this.address(name);
      await mkdir(dirname(path), { recursive: true });
      // A name of the final kind, which nothing registers: what a killed run leaves is swept like any other stray file.
      const unfinished = `${path.replace(/\.parquet$/, "")}-${randomUUID()}.parquet`;
      try {
        const result = await produce(unfinished);
        await syncFile(unfinished);
        await rename(unfinished, path);
        return result;
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
    });
  }

  scratch<Result>(work: (path: string) => Promise<Result>): Promise<Result> {
    return inScratchFolder(tmpdir(), work);
  }

  readText(name: string): Promise<TaggedText | undefined> {
    return this.translating("read", name, async () => {
      try {
        const text = await readFile(this.address(name), "utf8");
        return { text, tag: tagOf(text) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    });
  }

  /**
   * A file system has no conditional write, so between the look and the rename another writer can come. Whoever
   * publishes looks at the truth again afterwards, so the last one leaves what is right.
   */
  async swapText(name: string, text: string, tag: string | undefined): Promise<boolean> {
    if ((await this.readText(name))?.tag !== tag) return false;
    await this.write(name, async (path) => {
      const file = await open(path, "wx");
      try {
        await file.writeFile(text);
      } finally {
        await file.close();
      }
    });
    return true;
  }

  list(prefix: string): Promise<readonly StoredObject[]> {
    return this.translating("list", prefix, async () => {
      const folder = this.address(prefix.slice(0, prefix.lastIndexOf("/") + 1));
      const found: StoredObject[] = [];
      for (const path of await filesBelow(folder)) {
        const name = relative(this.root, path).split(sep).join("/");
        if (!name.startsWith(prefix)) continue;
        const facts = await stat(path, { bigint: true }).catch(() => undefined);
        if (facts !== undefined) found.push({ name, bytes: facts.size, modified: facts.mtime });
      }
      return found;
    });
  }

  remove(names: readonly string[]): Promise<void> {
    return this.translating("remove files of", names[0] ?? "", async () => {
      await Promise.all(names.map((name) => this.limit(() => rm(this.address(name), { force: true }))));
    });
  }

  close(): void {}

  private async translating<Result>(what: string, name: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === undefined || !/^E[A-Z]+$/.test(code)) throw error;
      throw new LakeError("log_store", `The change log could not ${what} ${this.address(name)}: ${code}.`, {
        hint: "Check `log.path`, its rights and the space on its disk.",
        cause: error,
      });
    }
  }
}

async function filesBelow(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** A rename must not come to the disk before the content does. */
async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function tagOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
