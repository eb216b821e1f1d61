import { randomUUID } from "node:crypto";
import type { Session } from "../engine/session.js";
import { quoteIdentifier } from "../sql/quote.js";
import type { StoredDefinition } from "../view/definition.js";
import {
  type ConsolidatedCounts,
  consolidate,
  dropConsolidated,
  type FileContext,
  isYoung,
  requireYoung,
  writeBase,
  writeSegment,
} from "./files.js";
import { storedRows } from "./read.js";
import { beginEpoch, insertEntries, type LogState, type NewEntry, readLog } from "./registry.js";
import type { LogRoot } from "./root.js";
import { type LogSchema, logSchema, weightedRows } from "./schema.js";

interface LogRun {
  readonly id: string;
  /** Where the view stands in the lake now; null before its first refresh. */
  readonly from: bigint | null;
  readonly horizon: bigint;
  /** The view may hold other rows than the log knows of, though the two stand at one snapshot. */
  readonly altered: boolean;
}

/** Writes what one refresh of a view changed to the view's log: files first, their registration with the commit. */
export class LogWriter {
  private entries: readonly NewEntry[] = [];
  private writtenAt = 0;

  private constructor(
    private readonly root: LogRoot,
    private readonly session: Session,
    private readonly log: string,
    private readonly schema: LogSchema,
    private readonly before: LogState | undefined,
    private readonly files: FileContext,
    private readonly horizon: bigint,
    /**
     * `append`: the log stands where the view does. `catch up`: refreshes without a log have left a gap, or something
     * else has written to the view's tables. `begin`:
     * there is no log yet, the columns are others, or the view changes without a new snapshot.
     */
    readonly mode: "append" | "catch up" | "begin",
  ) {}

  /**
   * @param known the log as the run found it. Where a segment follows, that is enough: whatever moves the log's end moves
   * the view as well, which the commit looks for. What it lists may be compacted by now, so all else reads it anew.
   */
  static async open(
    root: LogRoot,
    session: Session,
    definition: StoredDefinition,
    run: LogRun,
    known: LogState | undefined,
  ): Promise<LogWriter> {
    const log = definition.name;
    const schema = await logSchema(session, definition);
    const before = modeOf(known, schema, run) === "append" ? known : await readLog(session, root.tables, log);
    const mode = modeOf(before, schema, run);
    const epoch = mode === "begin" || before === undefined ? randomUUID() : before.epoch;
    const files = await root.filesOf(session, { log, epoch, schema, runId: run.id });
    return new LogWriter(root, session, log, schema, before, files, run.horizon, mode);
  }

  /** Writes the segment of the run's window from a SELECT of the view's columns and `weight`; nothing is registered. */
  async writeChange(rows: string, weight: string): Promise<ConsolidatedCounts> {
    return this.writeWindow(weightedRows(this.schema, `(${rows})`, quoteIdentifier(weight)));
  }

  /** Writes the segment that brings the log's own state to `after`, whatever happened in between. */
  async writeCatchUp(after: string): Promise<void> {
    const entries = this.before?.entries ?? [];
    const weight = quoteIdentifier(this.schema.weight);
    const logged = storedRows(this.root.store, this.schema, entries);
    await this.writeWindow(
      `${weightedRows(this.schema, `(${after})`, "1")} UNION ALL SELECT * REPLACE (-${weight} AS ${weight}) FROM (${logged})`,
    );
  }

  /** Begins the log with the whole state. */
  async writeState(rows: string): Promise<void> {
    this.writtenAt = Date.now();
    const counts = await consolidate(this.session, this.schema, weightedRows(this.schema, `(${rows})`, "1"));
    this.entries = await writeBase(this.files, this.horizon, 0, counts.rows);
    await dropConsolidated(this.session);
  }

  /** Registers that the window held no change. */
  async writeNothing(): Promise<void> {
    await this.writeWindow(storedRows(this.root.store, this.schema, []));
  }

  /** Registers what was written, in the transaction that changes the view. */
  async register(): Promise<void> {
    requireYoung(this.log, this.writtenAt, this.root.graceMs);
    const { session, root } = this;
    if (this.mode === "begin")
      await beginEpoch(session, root.tables, this.log, this.files.epoch, this.schema, this.before);
    await insertEntries(session, root.tables, this.entries);
  }

  /** True where what was written can still be registered. */
  get lasts(): boolean {
    return isYoung(this.writtenAt, this.root.graceMs);
  }

  /** What was written, for the result. */
  get written(): readonly NewEntry[] {
    return this.entries;
  }

  private async writeWindow(select: string): Promise<ConsolidatedCounts> {
    this.writtenAt = Date.now();
    const counts = await consolidate(this.session, this.schema, select);
    // Of what lies inside a gap the log knows nothing, as of what lies inside a merged window.
    const level = this.mode === "catch up" ? 1 : 0;
    const window = { from: this.before?.end ?? 0n, to: this.horizon, level };
    this.entries = [await writeSegment(this.files, window, counts.rows)];
    await dropConsolidated(this.session);
    return counts;
  }
}

function modeOf(
  before: LogState | undefined,
  schema: LogSchema,
  { from, horizon, altered }: LogRun,
): LogWriter["mode"] {
  if (before === undefined || before.schema.fingerprint !== schema.fingerprint) return "begin";
  if (before.end >= horizon || before.end < 0n || from === null) return "begin";
  return before.end === from && !altered ? "append" : "catch up";
}
