import type { Session } from "../engine/session.js";
import { ConflictError, IvmError } from "../errors.js";

/** One step of the state schema's tables from a version to the next. */
interface Migration {
  readonly version: number;
  readonly what: string;
  /** Statements of one transaction; `table` gives a table's quoted name. */
  readonly statements: (table: (name: string) => string) => readonly string[];
}

/**
 * Numbered steps, run in order, each in a transaction of its own that also moves the version. A step is never changed
 * once it is released: what it did stands in lakes.
 */
const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    what: "create state tables",
    statements: (table) => [
      `CREATE TABLE ${table("layout")} (version INTEGER, applies BIGINT)`,
      `CREATE TABLE ${table("views")} (name VARCHAR, definition VARCHAR, built VARCHAR)`,
      `CREATE TABLE ${table("progress")} (view VARCHAR, horizon BIGINT, run_id VARCHAR, updated_at TIMESTAMP WITH TIME ZONE)`,
      `CREATE TABLE ${table("cursors")} (view VARCHAR, source VARCHAR, snapshot BIGINT, table_id BIGINT, table_uuid VARCHAR)`,
      `CREATE TABLE ${table("runs")} (run_id VARCHAR, view VARCHAR, horizon BIGINT, strategy VARCHAR, reason VARCHAR, sources VARCHAR, terms VARCHAR, rows_inserted BIGINT, rows_deleted BIGINT, elapsed_ms DOUBLE, finished_at TIMESTAMP WITH TIME ZONE)`,
      `INSERT INTO ${table("layout")} VALUES (1, 0)`,
    ],
  },
  {
    version: 2,
    what: "keep cursors with the progress of views, record the time that they saw and what refreshes cost, and create tables of change logs",
    statements: (table) => [
      `ALTER TABLE ${table("progress")} ADD COLUMN cursors VARCHAR`,
      `UPDATE ${table("progress")} AS progress SET cursors = (${cursorsOfLayout1(table("cursors"))})`,
      `DROP TABLE ${table("cursors")}`,
      `ALTER TABLE ${table("progress")} ADD COLUMN instant VARCHAR`,
      `ALTER TABLE ${table("progress")} ADD COLUMN costs VARCHAR`,
      `ALTER TABLE ${table("runs")} ADD COLUMN instant VARCHAR`,
      `CREATE TABLE ${table("identity")} (lake VARCHAR)`,
      `INSERT INTO ${table("identity")} VALUES (CAST(uuid() AS VARCHAR))`,
      `CREATE TABLE ${table("logs")} (log VARCHAR, epoch VARCHAR, "schema" VARCHAR, generation BIGINT, updated_at TIMESTAMP WITH TIME ZONE)`,
      `CREATE TABLE ${table("segments")} (id VARCHAR, log VARCHAR, epoch VARCHAR, kind VARCHAR, from_snapshot BIGINT, to_snapshot BIGINT, level INTEGER, part INTEGER, file VARCHAR, "rows" BIGINT, bytes BIGINT, least VARCHAR, greatest VARCHAR, run_id VARCHAR, created_at TIMESTAMP WITH TIME ZONE)`,
      `CREATE TABLE ${table("retired")} (id VARCHAR, log VARCHAR, file VARCHAR, retired_at TIMESTAMP WITH TIME ZONE)`,
      `CREATE TABLE ${table("consumers")} (name VARCHAR, log VARCHAR, epoch VARCHAR, "position" BIGINT, moves BIGINT, updated_at TIMESTAMP WITH TIME ZONE)`,
    ],
  },
  {
    version: 3,
    what: "record where a view stood before a run, when its refresh began, and failures",
    statements: (table) => [
      `ALTER TABLE ${table("runs")} ADD COLUMN from_horizon BIGINT`,
      `ALTER TABLE ${table("runs")} ADD COLUMN started_at TIMESTAMP WITH TIME ZONE`,
      `ALTER TABLE ${table("runs")} ADD COLUMN error VARCHAR`,
    ],
  },
];

/** The cursors of the view in the row named `progress`, from the table that the first layout had for them. */
export function cursorsOfLayout1(table: string): string {
  return `SELECT CAST(to_json(list({source: source, snapshot: CAST(snapshot AS VARCHAR), tableId: CAST(table_id AS VARCHAR), tableUuid: table_uuid})) AS VARCHAR)
    FROM (SELECT * FROM ${table}) AS cursors WHERE cursors.view = progress.view`;
}

/** The version of the tables in the state schema; a newer one is refused, an older one migrated. */
export const LAYOUT_VERSION = MIGRATIONS.length;

/** The version that brought the tables of change logs. */
export const LAYOUT_WITH_LOGS = 2;

/** The version from which on runs say where they began and how they failed. */
export const LAYOUT_WITH_FAILURES = 3;

/** What a migration needs of the state schema. */
export interface MigrationTarget {
  table(name: string): string;
  commitMessage(session: Session, message: string, info: Readonly<Record<string, unknown>>): Promise<void>;
}

/**
 * Runs all steps after `version`. Of two at once, one gets a conflict and finds the work done when it tries again.
 * @throws ConflictError
 */
export async function migrate(session: Session, target: MigrationTarget, version: number): Promise<void> {
  for (const migration of MIGRATIONS.filter((step) => step.version > version)) {
    try {
      await session.transaction(async () => {
        for (const statement of migration.statements((name) => target.table(name))) await session.run(statement);
        if (migration.version > 1)
          await session.run(`UPDATE ${target.table("layout")} SET version = ${migration.version}`);
        await target.commitMessage(session, migration.what, { layout: migration.version });
      });
    } catch (error) {
      throw doneByAnother(error) ? stateMoved(error) : error;
    }
  }
}

/** The other one had committed before this step's transaction began, so that there is nothing left to conflict with. */
function doneByAnother(error: unknown): boolean {
  return error instanceof IvmError && error.code === "engine_error" && /already exists/i.test(error.message);
}

function stateMoved(cause: unknown): ConflictError {
  return new ConflictError("moved", "Another process made or changed the tables of the state schema meanwhile.", {
    hint: "Run the same command again.",
    cause,
  });
}
