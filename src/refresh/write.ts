import { WEIGHT } from "../catalog/consolidate.js";
import { LAKE_NAME } from "../engine/lake.js";
import type { ColumnId } from "../plan/relation.js";
import { quoteIdentifier, quotePath } from "../sql/quote.js";
import { besideTables } from "../view/beside.js";
import { isLimited } from "../view/layout.js";
import type { BuiltView } from "../view/state.js";
import { visibleSelect } from "../view/visible.js";
import { commit, moved } from "./commit.js";
import { DIFFERENCE } from "./difference.js";
import { physicalName, physicalTable } from "./physical.js";
import { checkPrimaryKey } from "./primary-key.js";
import { applyDifference, createTable, findVictims, type StoredTable } from "./stored-table.js";
import { countAgainstKept, keepVisible, logState, visibleChange } from "./visible-change.js";
import type { WriteInput, Written } from "./write-input.js";

const q = quoteIdentifier;

/** The physical table, and those beside it. */
function storedTables(
  input: WriteInput,
  physical: string,
  rebuilt: boolean,
  present?: string,
): [StoredTable, ...StoredTable[]] {
  const { state, definition } = input;
  const { layout, name: view } = definition;
  // A group is found by its keys; a table that another definition filled may hold any rows.
  const keysOf = (keys: readonly ColumnId[] | undefined): readonly ColumnId[] | undefined =>
    rebuilt ? undefined : keys;
  const main = {
    view,
    table: physicalTable(state, physical),
    columns: layout.columns,
    keys: keysOf(layout.groups?.keys),
    difference: DIFFERENCE,
    victims: "ivm_victims",
    present,
    isLarge: input.large.tables.has(physicalTable(state, physical)),
  };
  const beside = besideTables(layout, physical).map(({ name, columns, keys, difference }, index) => ({
    view,
    table: physicalTable(state, name),
    columns,
    keys: keysOf(keys),
    difference,
    victims: `ivm_victims_beside${index + 1}`,
    present: undefined,
    isLarge: input.large.tables.has(physicalTable(state, name)),
  }));
  return [main, ...beside];
}

/** Drops the tables beside the physical one that the layout does not have any more. */
async function dropBeside(input: WriteInput, replaced: BuiltView | null, physical: string): Promise<void> {
  const { session, state, definition } = input;
  if (replaced === null) return;
  const kept = new Set(besideTables(definition.layout, physical).map(({ name }) => name));
  for (const { name } of besideTables(replaced.layout, replaced.table)) {
    if (!kept.has(name)) await session.run(`DROP TABLE IF EXISTS ${physicalTable(state, name)}`);
  }
}

/** Creates the view's tables from SELECTs of their rows and puts the user-facing view over them, in one commit. */
export async function writeNew(
  input: WriteInput,
  rows: string,
  besideRows: readonly string[],
  replaced: BuiltView | null,
): Promise<Written> {
  const { session, state, definition } = input;
  const name = physicalName(definition.name);
  const table = physicalTable(state, name);
  const { layout } = definition;
  await keepVisible(input, replaced);
  return commit(input, async () => {
    const [physical, ...beside] = storedTables(input, name, false);
    await createTable(session, physical, rows);
    for (const [index, stored] of beside.entries()) await createTable(session, stored, besideRows[index] ?? "");
    await dropBeside(input, replaced, name);
    const counts = await countAgainstKept(input, replaced, table);
    await checkPrimaryKey(input, table, null);
    await logState(input, table);
    await writeUserView(input, name);
    await writeBuilt(input, { fingerprint: definition.fingerprint, layout, table: name });
    return counts;
  });
}

/**
 * Applies DIFFERENCE to the physical table, exactly: n copies in and n copies out; and to those beside it theirs.
 * @param present a temporary table with the physical table's rows that may go, where they have been read.
 */
export async function writeDifference(
  input: WriteInput,
  built: BuiltView,
  rebuilt: boolean,
  present?: string,
): Promise<Written> {
  const { session, state, definition } = input;
  const table = physicalTable(state, built.table);
  const { layout } = definition;
  const tables: { stored: StoredTable; expected: bigint }[] = [];
  for (const stored of storedTables(input, built.table, rebuilt, present)) {
    tables.push({ stored, expected: await findVictims(session, stored) });
  }
  // Behind a LIMIT, or where the definition changed, visible rows are no function of the physical difference.
  const whole = rebuilt || isLimited(layout);
  const counts = whole ? null : await visibleChange(input);
  if (whole) await keepVisible(input, built);
  return commit(input, async () => {
    for (const { stored, expected } of tables) await applyDifference(session, stored, expected);
    const written = `SELECT * FROM temp.${q(DIFFERENCE)} WHERE ${q(WEIGHT)} > 0`;
    await checkPrimaryKey(input, table, whole ? null : written);
    if (rebuilt || input.restoresUserView) await writeUserView(input, built.table);
    if (rebuilt) {
      await writeBuilt(input, { ...built, fingerprint: definition.fingerprint, layout });
    }
    if (whole || input.log?.mode !== "append") await logState(input, table);
    return counts ?? countAgainstKept(input, built, table);
  });
}

/** Moves only the cursors: the window held no change that the view can see. */
export async function writeCursors(input: WriteInput, built: BuiltView): Promise<Written> {
  if (input.log?.mode === "append") await input.log.writeNothing();
  return commit(input, async () => {
    if (input.restoresUserView) await writeUserView(input, built.table);
    if (input.log?.mode !== "append") await logState(input, physicalTable(input.state, built.table));
    return { inserted: 0n, deleted: 0n };
  });
}

async function writeUserView(input: WriteInput, table: string): Promise<void> {
  const { session, engine, state, definition } = input;
  const schema = engine.config.schema ?? "main";
  if (schema !== "main") await session.run(`CREATE SCHEMA IF NOT EXISTS ${quotePath([LAKE_NAME, schema])}`);
  // Without the catalog's name, so that it works under whatever name a reader attaches the lake.
  const select = visibleSelect(definition.layout, quotePath([state.schema, table]));
  await session.run(`CREATE OR REPLACE VIEW ${quotePath([LAKE_NAME, schema, definition.name])} AS ${select}`);
}

async function writeBuilt(input: WriteInput, built: BuiltView): Promise<void> {
  const changed = await input.session.change(`UPDATE ${input.state.table("views")} SET built = $1 WHERE name = $2`, [
    JSON.stringify(built),
    input.definition.name,
  ]);
  if (changed !== 1n) throw moved(input.definition.name);
}
