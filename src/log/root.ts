import pLimit from "p-limit";
import type { Session } from "../engine/session.js";
import { ConfigError } from "../errors.js";
import type { LakeConfig, LogConfig, Retention } from "../types.js";
import type { StateTables } from "../view/state.js";
import type { FileContext } from "./files.js";
import { openStore } from "./open-store.js";
import type { ObjectStore } from "./store.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULTS = {
  keep: { milliseconds: 7 * DAY_MS } satisfies Retention,
  maxLag: { milliseconds: 30 * DAY_MS } satisfies Retention,
  fanOut: 8,
  graceMs: 60 * 60 * 1000,
  fileBytes: 128 * 1024 * 1024,
  compact: "auto",
} as const;

/** Where an attached lake keeps its change logs, and by which rules. */
export class LogRoot {
  readonly keep: Retention;
  readonly maxLag: Retention;
  readonly fanOut: number;
  readonly graceMs: number;
  readonly fileBytes: number;
  readonly compact: "auto" | "manual";
  /** True where the deltas of base tables are kept as well. */
  readonly sources: boolean;
  private readonly queue = pLimit(1);

  private constructor(
    readonly store: ObjectStore,
    readonly tables: StateTables,
    config: LogConfig,
  ) {
    this.keep = config.keep ?? DEFAULTS.keep;
    this.maxLag = config.maxLag ?? DEFAULTS.maxLag;
    this.fanOut = config.fanOut ?? DEFAULTS.fanOut;
    this.graceMs = config.graceMs ?? DEFAULTS.graceMs;
    this.fileBytes = config.fileBytes ?? DEFAULTS.fileBytes;
    this.compact = config.compact ?? DEFAULTS.compact;
    this.sources = config.sources ?? false;
    if (!Number.isInteger(this.fanOut) || this.fanOut < 2) {
      throw new ConfigError("log_fan_out", "The log's fan-out must be a whole number of at least 2.", {
        hint: "Leave it out for 8.",
      });
    }
  }

  /** Undefined where the configuration names no `log.path`. */
  static open(config: LakeConfig, tables: StateTables): LogRoot | undefined {
    const store = openStore(config);
    return store === undefined ? undefined : new LogRoot(store, tables, config.log ?? {});
  }

  /** Tells this lake's files from those of another lake. */
  async lakeId(session: Session): Promise<string> {
    const { lake } = await session.remember("lake id", () =>
      session.row<{ lake: string }>(`SELECT lake FROM ${this.tables.table("identity")}`),
    );
    return lake;
  }

  /** What the files have in common that a run writes to a log. */
  async filesOf(session: Session, log: Pick<FileContext, "log" | "epoch" | "schema" | "runId">): Promise<FileContext> {
    const { store, fileBytes } = this;
    const oneByOne = <Result>(work: () => Promise<Result>): Promise<Result> => this.queue(work);
    return { ...log, session, store, fileBytes, lakeId: await this.lakeId(session), oneByOne };
  }

  close(): void {
    this.store.close();
  }
}

/** @throws ConfigError `log_off` where the project keeps no change logs. */
export function requireLog(root: LogRoot | undefined): LogRoot {
  if (root !== undefined) return root;
  throw new ConfigError("log_off", "This project keeps no change logs.", {
    hint: "Set `log.path` in the configuration to a folder or s3://bucket/prefix, and refresh.",
  });
}
