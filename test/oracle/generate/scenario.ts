/** Random scenarios: schema, views, and a history of changes and refreshes. */

import type { Column } from "../ast.js";
import { printQuery } from "../print.js";
import type { Event, Scenario, Table, View } from "../scenario.js";
import { type Context, FEATURES, type Feature, RARE, type Source } from "./context.js";
import { ChangeMaker } from "./data.js";
import type { Draw } from "./draw.js";
import { withGraph } from "./graph.js";
import { makeQuery } from "./query.js";
import { withJournal } from "./running.js";
import { LIST, STRUCT } from "./values.js";

/** Tables share names with one type each, so that USING and NATURAL have something to join on. */
const POOL: readonly Column[] = [
  ["g", "VARCHAR"],
  ["a", "INTEGER"],
  ["b", "INTEGER"],
  ["n", "BIGINT"],
  ["price", "DECIMAL(9,2)"],
  ["amount", "DECIMAL(38,4)"],
  ["x", "DOUBLE"],
  ["y", "DOUBLE"],
  ["s", "VARCHAR"],
  ["day", "DATE"],
  ["at", "TIMESTAMP"],
  ["ok", "BOOLEAN"],
  ["xs", LIST],
  ["st", STRUCT],
].map(([name, type]) => ({ name: name ?? "", type: type ?? "", exact: true }));

/** Names that collide with SQL, with DuckLake's feed or with what an engine calls its own columns. */
const ODD: readonly Column[] = [
  ["order", "INTEGER"],
  ["Mixed Case", "VARCHAR"],
  ["weight", "INTEGER"],
  ["snapshot_id", "BIGINT"],
  ["rowid", "INTEGER"],
  ["change_type", "VARCHAR"],
  ['quo"te', "INTEGER"],
].map(([name, type]) => ({ name: name ?? "", type: type ?? "", exact: true }));

/**
 * Operators that views may hold; `npm run fuzz -- --features` names fewer, so that they come more often. `running` asks
 * for a journal with running window functions in each scenario, which every eighth has without it, and `graph` for a graph.
 */
const asked = (process.env["IVM_FUZZ_FEATURES"] ?? "").split(",").filter((name) => name !== "");
const OFFERED = asked.length === 0 ? FEATURES : [...FEATURES, ...RARE].filter((feature) => asked.includes(feature));
const PLAIN_PERCENT = asked.length === 0 ? 62 : 20;

const KEY: Column = { name: "k", type: "INTEGER", exact: true };

const MAINTENANCE: readonly (readonly [number, string])[] = [
  [30, "CALL ducklake_merge_adjacent_files('lake')"],
  [30, "CALL ducklake_flush_inlined_data('lake')"],
  [25, "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)"],
  [8, "CALL ducklake_expire_snapshots('lake', older_than => now())"],
  [7, "CHECKPOINT lake"],
];

export function makeScenario(draw: Draw): Scenario {
  const tables = makeTables(draw);
  const sources: Source[] = tables.map((table) => ({
    path: draw.chance(5) ? ["main", table.name] : [table.name],
    columns: table.columns,
    size: 16,
    weight: 4,
  }));
  const plainViews: View[] = [];
  if (draw.chance(8)) plainViews.push(addView(draw, sources, "plain1", 2, []));
  const views: View[] = [];
  const count = draw.weighted([
    [45, 1],
    [35, 2],
    [20, 3],
  ]);
  for (let index = 1; index <= count; index++) views.push(addView(draw, sources, `v${index}`, 12));
  const text = [...plainViews, ...views].map((view) => printQuery(view.query)).join(" ");
  const read = new Set(tables.map((table) => table.name).filter((name) => text.includes(name)));
  const changes = new ChangeMaker(draw, tables, draw.chance(30), read);
  const setup = tables.map((table) => changes.initial(table)).filter((event) => event !== null);
  const scenario = {
    inlining: draw.pick([0, 10, null]),
    tables,
    plainViews,
    views,
    setup,
    events: makeEvents(draw, changes, views),
  };
  if (asked.includes("graph")) return withGraph(draw, scenario);
  return draw.chance(asked.includes("running") ? 100 : 12) ? withJournal(draw, scenario) : scenario;
}

function makeTables(draw: Draw): Table[] {
  const odd = draw.chance(15) ? draw.sample(ODD, 2) : [];
  const pool = [...POOL, ...odd, ...odd];
  return draw.times(2, 4, (index) => {
    const others = [...new Set(draw.sample(pool, draw.integer(1, 4)))];
    const columns = draw.chance(85) ? [KEY, ...others] : others;
    const partition = draw.chance(6) ? draw.pick(columns) : null;
    const partitioned = partition !== null && (partition.type === "INTEGER" || partition.type === "VARCHAR");
    return {
      name: draw.chance(4) ? `Table ${index + 1}` : `t${index + 1}`,
      columns: draw.chance(50) ? columns : draw.shuffle(columns),
      partitionBy: partitioned ? partition.name : null,
    };
  });
}

/** Makes a view and lets later ones read it. */
function addView(
  draw: Draw,
  sources: Source[],
  name: string,
  weight: number,
  // With every operator in every view most would be recomputed, and the incremental rules would hardly be tested.
  features: readonly Feature[] = draw.chance(PLAIN_PERCENT) ? [] : draw.sample(OFFERED, draw.integer(1, 3)),
): View {
  const { view, size } = makeView(draw, sources, name, new Set(features));
  sources.push({ path: [name], columns: view.columns, size: Math.min(size, 150), weight });
  return view;
}

function makeView(draw: Draw, sources: readonly Source[], name: string, features: ReadonlySet<Feature>) {
  const used = new Set<string>();
  let counter = 0;
  const context: Context = {
    draw,
    nested: makeQuery,
    features,
    sources,
    // A prefix that is free is taken as it is, so that a table can go without an alias once.
    fresh: (prefix) => {
      const free = prefix.length > 1 && !used.has(prefix);
      const chosen = free ? prefix : `${prefix}${++counter}`;
      used.add(chosen);
      return chosen;
    },
    depth: draw.weighted([
      [33, 0],
      [37, 1],
      [20, 2],
      [7, 3],
      [3, 4],
    ]),
  };
  const made = makeQuery(context);
  // The operators that every view may hold are the ones with a rule, and `incremental` refuses all others.
  const refresh = draw.weighted<View["refresh"]>(
    features.size === 0
      ? [
          [70, "incremental"],
          [25, "auto"],
          [5, "full"],
        ]
      : [
          [95, "auto"],
          [5, "full"],
        ],
  );
  const view: View = { name, query: made.query, columns: made.columns, refresh };
  return { view, size: made.size };
}

function makeEvents(draw: Draw, changes: ChangeMaker, views: readonly View[]): Event[] {
  const events: Event[] = [{ kind: "refresh", views: null, toMark: false }];
  for (let rounds = draw.integer(1, 4); rounds > 0; rounds--) {
    let toMark = false;
    // An expiry could take the marked snapshot away.
    const upkeep = () => draw.weighted(toMark ? MAINTENANCE.slice(0, 3) : MAINTENANCE);
    // Now and then nothing happens between two refreshes.
    for (let count = draw.chance(6) ? 0 : draw.integer(1, 4); count > 0; count--) {
      if (draw.chance(22)) events.push({ kind: "maintenance", sql: upkeep() });
      events.push(changes.transaction());
      if (draw.chance(4)) {
        events.push({ kind: "mark" });
        toMark = true;
      }
    }
    if (draw.chance(12)) events.push({ kind: "maintenance", sql: upkeep() });
    const only = draw.chance(12) ? [draw.pick(views).name] : null;
    events.push({ kind: "refresh", views: only, toMark: toMark && draw.chance(70) });
  }
  return events;
}
