/** Random tables before and after a change, and the check that the rules' terms give just that change. */

import fc from "fast-check";
import { outputOf, type Relation } from "../../src/plan/relation.js";
import { quoteIdentifier } from "../../src/sql/quote.js";
import { type Row, type Rows, World } from "../plan/world.js";

/** Small tables of a few values, so that keys meet, rows have copies, and NULLs are common. */
export const TABLES = {
  t: { a: "INTEGER", b: "INTEGER" },
  u: { a: "INTEGER", c: "INTEGER" },
  w: { a: "INTEGER", d: "INTEGER" },
};

interface Change {
  readonly old: Rows;
  readonly new: Rows;
}

const value = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 3 }), weight: 4 },
  { arbitrary: fc.constant(null), weight: 1 },
);
const rows = (maxLength: number): fc.Arbitrary<Row[]> => fc.array(fc.tuple(value, value), { maxLength });

interface TableChange {
  readonly kept: Row[];
  readonly gone: Row[];
  readonly come: Row[];
}

const tableChange: fc.Arbitrary<TableChange> = fc.oneof(
  { arbitrary: fc.record({ kept: rows(6), gone: rows(3), come: rows(3) }), weight: 3 },
  { arbitrary: fc.record({ kept: rows(6), gone: fc.constant<Row[]>([]), come: fc.constant<Row[]>([]) }), weight: 1 },
);

function changeOf(tables: Readonly<Record<string, TableChange>>): Change {
  const version = (part: "gone" | "come"): Rows =>
    Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, [...table.kept, ...table[part]]]));
  return { old: version("gone"), new: version("come") };
}

const anyChange = fc.record({ t: tableChange, u: tableChange, w: tableChange }).map(changeOf);

/** What always is tried: copies, NULLs, first and last rows of groups and partners, changes on all sides at once. */
const HARD: readonly Change[] = [
  changeOf({
    t: {
      kept: [
        [1, 1],
        [1, 1],
        [null, 2],
        [2, null],
      ],
      gone: [
        [1, 1],
        [3, 3],
        [null, 0],
      ],
      come: [
        [0, 1],
        [1, 2],
        [null, 2],
      ],
    },
    u: {
      kept: [
        [1, 1],
        [null, null],
        [2, 2],
      ],
      gone: [
        [1, 2],
        [3, 1],
        [0, 0],
      ],
      come: [
        [2, 2],
        [2, 3],
        [null, 1],
      ],
    },
    w: {
      kept: [
        [1, 3],
        [2, 0],
      ],
      gone: [
        [1, 1],
        [null, 2],
      ],
      come: [
        [3, 3],
        [0, 2],
        [1, 3],
      ],
    },
  }),
  changeOf({
    t: {
      kept: [],
      gone: [
        [1, 1],
        [null, null],
        [2, 1],
      ],
      come: [],
    },
    u: {
      kept: [
        [1, 1],
        [2, 2],
        [null, 1],
      ],
      gone: [],
      come: [[1, 0]],
    },
    w: {
      kept: [],
      gone: [],
      come: [
        [1, 1],
        [2, 1],
        [null, 0],
      ],
    },
  }),
  changeOf({
    t: {
      kept: [
        [0, 0],
        [1, 1],
        [1, 2],
        [null, 1],
      ],
      gone: [],
      come: [],
    },
    u: {
      kept: [],
      gone: [],
      come: [
        [1, 1],
        [1, 1],
        [0, 3],
        [null, 0],
      ],
    },
    w: {
      kept: [
        [1, 2],
        [0, 0],
      ],
      gone: [[1, 0]],
      come: [],
    },
  }),
];

/** Runs a check on the hard changes and on random ones. */
export async function everyChange(check: (change: Change) => Promise<void>, numRuns: number): Promise<void> {
  await fc.assert(fc.asyncProperty(anyChange, check), {
    numRuns: numRuns + HARD.length,
    examples: HARD.map((change) => [change]),
  });
}

/** Fails for the first relation whose old rows and terms do not add up to its new rows. */
export async function expectExact(world: World, relations: Readonly<Record<string, Relation>>): Promise<void> {
  await everyChange(async (change) => {
    await world.load(change);
    for (const [name, relation] of Object.entries(relations)) {
      const errors = await world.deltaErrors(relation);
      if (errors.length > 0) throw new Error(`${name}: old + Σ terms differs from new: ${print(errors)}`);
    }
  }, 2);
}

/** Fails for the first pair whose rows differ. */
export async function expectSameRows(
  world: World,
  pairs: Readonly<Record<string, readonly [Relation, Relation]>>,
): Promise<void> {
  await everyChange(async (change) => {
    await world.load(change);
    for (const [name, [left, right]] of Object.entries(pairs)) {
      const columns = outputOf(right).map(quoteIdentifier).join(", ");
      const select = (relation: Relation) => `SELECT ${columns} FROM (${world.at("new", relation)})`;
      const errors = await world.bagDifference(select(left), select(right), outputOf(right).length);
      if (errors.length > 0) throw new Error(`${name}: the rows differ: ${print(errors)}`);
    }
  }, 2);
}

export function smallWorld(): Promise<World> {
  return World.create(TABLES);
}

function print(rows: readonly unknown[]): string {
  return JSON.stringify(rows, (_, part: unknown) => (typeof part === "bigint" ? String(part) : part));
}
