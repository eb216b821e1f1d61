import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { execa, execaSync } from "execa";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { completeWords } from "../../src/cli/complete.js";
import { createProgram } from "../../src/cli/program.js";
import { folder } from "../project/files.js";
import { BINARY, command, processOptions } from "./command.js";

vi.setConfig({ testTimeout: 120_000 });

/** The folder `there` holds a project, whose configuration could not be used as it is. */
let cwd = "";
beforeAll(async () => {
  cwd = await folder({
    "there/ducklake-ivm.yaml": "lake: { catalog: '$" + "{NOT_SET}' }\nviews: sql\n",
    "there/sql/spent.sql": "/* --- tags: [daily] --- */ SELECT 1 AS one",
    "there/sql/deep/spenders.sql": "SELECT this is no SQL",
    "there/sql/deep/orders.sql": "",
    "there/sql/views.js": "console.log('never run');",
  });
  await mkdir(join(cwd, "bin"));
  await symlink(BINARY, join(cwd, "bin", "ducklake-ivm"));
  for (const shell of SHELLS) {
    const { stdout, exitCode } = await command(["completion", shell], { cwd });
    expect(exitCode).toBe(0);
    await execa("tee", [join(cwd, shell)], { input: `${stdout}\n` });
  }
});

const SHELLS = ["bash", "zsh", "fish"] as const;

describe("candidates", () => {
  const complete = async (...line: string[]): Promise<string[]> => {
    const program = createProgram({ run: async () => undefined });
    const found = await completeWords(program, ["--project-dir", join(cwd, "there"), ...line]);
    return found.map((candidate) => candidate.split("\t")[0] ?? "").sort();
  };

  it.each([
    [["re"], ["refresh", "replay", "report", "retention"]],
    [
      ["consumer", ""],
      ["add", "commit", "list", "remove"],
    ],
    [["help", "refr"], ["refresh"]],
    [["consumer", "commit", "--f"], ["--from"]],
    [
      ["refresh", "--no"],
      ["--no-change-exit-code", "--no-upstream", "--no-write-json"],
    ],
    [["refresh", "--deb"], ["--debug"]],
    [
      ["refresh", "sp"],
      ["spenders", "spent"],
    ],
    [
      ["refresh", "spent", ""],
      ["orders", "spenders", "spent"],
    ],
    [["refresh", "--select", "spent", "tag:"], ["tag:daily"]],
    [
      ["verify", "--exclude", "+sp"],
      ["+spenders", "+spent"],
    ],
    [["refresh", "--jobs", ""], []],
    [["refresh", "--jobs", "2", "ord"], ["orders"]],
    [["explain", "spent", ""], []],
    [
      ["status", "--output", "j"],
      ["json", "jsonl"],
    ],
    [["status", "--output=te"], ["--output=text"]],
    [
      ["graph", "--format", ""],
      ["json", "mermaid", "text"],
    ],
    [
      ["query", "spen"],
      ["spenders", "spent"],
    ],
    [["query", "spent", "--out", ""], [":files"]],
    [["append", "t", ""], ["from"]],
    [["append", "t", "from", ""], [":files"]],
    [["refresh", "--", "--s"], []],
    [
      ["completion", ""],
      ["bash", "fish", "zsh"],
    ],
    [["nonsense", ""], []],
  ])("of %j", async (line, expected) => {
    expect(await complete(...line)).toEqual(expected);
  });

  it("are none of views where there is no project", async () => {
    const program = createProgram({ run: async () => undefined });
    expect(await completeWords(program, ["--project-dir", join(cwd, "nowhere"), "refresh", ""])).toEqual([]);
  });
});

/** Whether a shell is there to be asked. */
const has = (shell: string): boolean => !execaSync(shell, ["--version"], { reject: false, stdin: "ignore" }).failed;
const environment = () =>
  processOptions({ cwd: join(cwd, "there"), env: { PATH: `${join(cwd, "bin")}:${process.env["PATH"]}` } });

describe("bash", () => {
  /** Asks as bash itself does for what stands before the cursor, with the words that it splits the line into. */
  async function ask(line: string, words: readonly string[]): Promise<string[]> {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const script = [
      `source ${join(cwd, "bash")}`,
      `COMP_LINE='${line}' COMP_POINT=${line.length} COMP_WORDS=(${quoted}) COMP_CWORD=${words.length - 1}`,
      "_ducklake_ivm",
      `printf '%s\\n' "$\{COMPREPLY[@]}"`,
    ];
    const { stdout } = await execa("bash", ["--norc", "-c", script.join("\n")], environment());
    return stdout.split("\n");
  }

  it("completes commands, options, views, and what stands behind a colon or an equals sign", async () => {
    expect(await ask("ducklake-ivm refr", ["ducklake-ivm", "refr"])).toEqual(["refresh"]);
    expect(await ask("ducklake-ivm explain ", ["ducklake-ivm", "explain", ""])).toEqual([
      "orders",
      "spenders",
      "spent",
    ]);
    expect(await ask("ducklake-ivm refresh --fail", ["ducklake-ivm", "refresh", "--fail"])).toEqual(["--fail-fast"]);
    const tag = ["ducklake-ivm", "refresh", "--select", "tag", ":", "da"];
    expect(await ask("ducklake-ivm refresh --select tag:da", tag)).toEqual(["daily"]);
    const output = ["ducklake-ivm", "status", "--output", "=", "te"];
    expect(await ask("ducklake-ivm status --output=te", output)).toEqual(["text"]);
    const file = ["ducklake-ivm", "query", "spent", "--out", ""];
    expect(await ask("ducklake-ivm query spent --out ", file)).toEqual([""]);
  });

  it("is bound to the command", async () => {
    const script = `source ${join(cwd, "bash")}; complete -p ducklake-ivm`;
    const { stdout } = await execa("bash", ["--norc", "-c", script], environment());
    expect(stdout).toBe("complete -F _ducklake_ivm ducklake-ivm");
  });
});

describe.skipIf(!has("zsh"))("zsh", () => {
  /** What the line becomes in a shell that somebody types into. */
  async function type(line: string): Promise<string> {
    const out = join(cwd, `zsh-${line.length}`);
    const script = [
      "zmodload zsh/zpty",
      "zpty shell zsh -fi",
      `zpty -w shell "autoload -Uz compinit && compinit -u -D && source ${join(cwd, "zsh")}"`,
      `zpty -w shell 'show() { zle complete-word; print -r -- "$BUFFER" >! ${out}.new; mv ${out}.new ${out}; exit }'`,
      `zpty -w shell "zle -N show; bindkey '^G' show"`,
      "sleep 1",
      `zpty -w -n shell $'${line}\\x07'`,
      `for ((i = 0; i < 300; i++)) { [[ -e ${out} ]] && break; sleep 0.1 }`,
      "zpty -d shell",
    ];
    await execa("zsh", ["-f", "-c", script.join("\n")], environment());
    return (await readFile(out, "utf8")).trimEnd();
  }

  it("completes commands and views", async () => {
    expect(await type("ducklake-ivm refr")).toBe("ducklake-ivm refresh");
    expect(await type("ducklake-ivm explain spend")).toBe("ducklake-ivm explain spenders");
    expect(await type("ducklake-ivm refresh --select tag:d")).toBe("ducklake-ivm refresh --select tag:daily");
  });
});

describe.skipIf(!has("fish"))("fish", () => {
  it("completes commands and views, and tells what they are", async () => {
    const ask = async (line: string): Promise<string[]> => {
      const script = `source ${join(cwd, "fish")}; complete -C "${line}"`;
      return (await execa("fish", ["--no-config", "-c", script], environment())).stdout.split("\n");
    };
    expect(await ask("ducklake-ivm refr")).toEqual(["refresh\tbring views up to date, with everything they read"]);
    expect((await ask("ducklake-ivm explain ")).sort()).toEqual(["orders\tview", "spenders\tview", "spent\tview"]);
  });
});
