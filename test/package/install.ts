/** Installs this package as npm packs it, with the dependencies that are here already. */
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { folder as newFolder } from "../project/files.js";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The packed package, unpacked in a folder of its own. What stands in `dist` is taken; nothing is built. */
async function unpack(): Promise<string> {
  const place = await newFolder();
  await execa("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", place], { cwd: ROOT });
  const [archive = ""] = await readdir(place);
  const unpacked = join(place, "ducklake-ivm");
  await mkdir(unpacked);
  await execa("tar", ["-xzf", join(place, archive), "--strip-components=1", "-C", unpacked]);
  await symlink(join(ROOT, "node_modules"), join(unpacked, "node_modules"));
  return unpacked;
}

let unpacked: Promise<string> | undefined;

/** Puts the package into a folder's `node_modules`, as `npm install ducklake-ivm` does. */
export async function installPackage(folder: string): Promise<void> {
  unpacked ??= unpack();
  await execa("sh", ["-c", await installScript()], { cwd: folder });
}

async function installScript(): Promise<string> {
  unpacked ??= unpack();
  return [
    "mkdir -p node_modules/.bin",
    `cp -R ${await unpacked} node_modules/ducklake-ivm`,
    "chmod +x node_modules/ducklake-ivm/dist/cli/main.js",
    "ln -s ../ducklake-ivm/dist/cli/main.js node_modules/.bin/ducklake-ivm",
  ].join(" && ");
}

/** A folder for PATH whose `npm install ducklake-ivm` takes the packed package, and whose npm else is npm. */
export async function npmWithPackage(): Promise<string> {
  const bin = await newFolder();
  const script = `#!/bin/sh
if [ "$*" = "install ducklake-ivm" ]; then ${await installScript()}; exit; fi
PATH=$(printf %s "$PATH" | sed "s|^${bin}:||"); exec npm "$@"
`;
  await writeFile(join(bin, "npm"), script);
  await chmod(join(bin, "npm"), 0o755);
  return bin;
}
