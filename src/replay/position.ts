import { ConflictError, IvmError } from "../errors.js";
import { quoteLiteral } from "../sql/quote.js";
import type { Target } from "./target.js";

/** The table in the target's schema that says where its mirrors stand. Only it counts, never the consumer's cursor. */
export const POSITIONS = "_ducklake_ivm_replay";

/** Where one mirror stands. */
export interface Position {
  /** Tells one lake from another. */
  readonly lake: string;
  readonly view: string;
  readonly epoch: string;
  readonly position: bigint;
}

/**
 * Makes the table of positions where it is missing, in a commit of its own. Its row without a name is updated by each
 * replay that adds one: of two that add the same, one gets a conflict, also where there are no keys.
 */
export async function preparePositions(target: Target, schema: string): Promise<void> {
  const path = target.path(schema, POSITIONS);
  if ((await target.find(schema, POSITIONS)).columns === null) {
    const columns = `mirror VARCHAR NOT NULL, lake VARCHAR, "view" VARCHAR, epoch VARCHAR, "position" BIGINT, updated_at TIMESTAMP WITH TIME ZONE`;
    try {
      await target.run(`CREATE TABLE ${path} (${columns}${target.primaryKey("mirror")})`);
    } catch (error) {
      if (error instanceof IvmError && /already exists|duplicate key/i.test(error.message)) throw busy(error);
      throw error;
    }
  }
  const guards = await target.rows(`SELECT mirror FROM ${path} WHERE mirror = ''`);
  if (guards.length === 0) await addGuard(target, path);
  await target.settle(schema, POSITIONS);
}

async function addGuard(target: Target, path: string): Promise<void> {
  try {
    await target.run(`INSERT INTO ${path} (mirror, updated_at) VALUES ('', now())`);
  } catch (error) {
    if (error instanceof IvmError && /duplicate key/i.test(error.message)) throw busy(error);
    throw error;
  }
}

function busy(cause: unknown): ConflictError {
  return new ConflictError("replay_busy", "Another replay began in the same target at the same time.", {
    hint: "Run the same command again.",
    cause,
  });
}

export async function readPosition(target: Target, schema: string, table: string): Promise<Position | undefined> {
  const rows = await target.rows<Position>(
    `SELECT lake, "view", epoch, "position" FROM ${target.path(schema, POSITIONS)} WHERE mirror = ${quoteLiteral(table)}`,
  );
  return rows[0];
}

/**
 * Moves the mirror, before its rows are touched: another replay of it has to wait or fails.
 * @throws ConflictError `replay_moved` where another one was faster.
 */
export async function movePosition(
  target: Target,
  schema: string,
  table: string,
  before: Position | undefined,
  after: Position,
): Promise<void> {
  const path = target.path(schema, POSITIONS);
  const [mirror, lake, view, epoch] = [table, after.lake, after.view, after.epoch].map(quoteLiteral);
  if (before === undefined) {
    await target.run(`UPDATE ${path} SET updated_at = now() WHERE mirror = ''`);
    await target.run(`INSERT INTO ${path} VALUES (${mirror}, ${lake}, ${view}, ${epoch}, ${after.position}, now())`);
    return;
  }
  const moved = await target.change(
    `UPDATE ${path} SET lake = ${lake}, "view" = ${view}, epoch = ${epoch}, "position" = ${after.position}, updated_at = now()
     WHERE mirror = ${mirror} AND epoch = ${quoteLiteral(before.epoch)} AND "position" = ${before.position}`,
  );
  if (moved !== 1n) {
    throw new ConflictError("replay_moved", `The table ${table} was moved by another replay in the meantime.`, {
      subject: { table },
      hint: "Run the same command again.",
    });
  }
}
