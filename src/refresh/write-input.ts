import type { Engine } from "../engine/lake.js";
import type { Session } from "../engine/session.js";
import type { LogWriter } from "../log/writer.js";
import type { StoredDefinition } from "../view/definition.js";
import type { Progress, StateTables } from "../view/state.js";
import type { Large } from "./large-tables.js";

/** A source's new cursor. */
interface NewCursor {
  readonly source: string;
  readonly snapshot: bigint;
  readonly tableId: bigint;
  readonly tableUuid: string;
}

export interface WriteInput {
  readonly session: Session;
  readonly engine: Engine;
  readonly state: StateTables;
  readonly definition: StoredDefinition;
  /** Where the view stood when the run was planned; another place now means that another run was faster. */
  readonly before: Progress;
  readonly horizon: bigint;
  /** The horizon's commit time. */
  readonly instant: string;
  readonly runId: string;
  readonly cursors: readonly NewCursor[];
  /** What the run's record says besides. */
  readonly record: RunRecord;
  /** Writes the view's change log; null where none is kept. */
  readonly log: LogWriter | null;
  readonly large: Large;
  /** True where somebody else has dropped or replaced the user-facing view. */
  readonly restoresUserView: boolean;
}

/** What a run leaves in `ivm.runs`. */
interface RunRecord {
  readonly strategy: string;
  readonly reason: string | null;
  readonly sources: string;
  readonly terms: string;
  readonly startedAt: number;
  /** What the view's refreshes cost so far, this one included, as JSON. */
  readonly costs: () => string | null;
}

export interface Written {
  readonly inserted: bigint;
  readonly deleted: bigint;
  /** Looks up the snapshot that this commit made. */
  readonly snapshot: (session: Session) => Promise<bigint>;
}
