import { newestChanges } from "../catalog/snapshots.js";
import { tableAt } from "../catalog/tables.js";
import { sameName } from "../sql/quote.js";
import type { GraphEdge, LakeGraph, TableNode, ViewNode } from "../types.js";
import type { DefinedSource } from "../view/definition.js";
import type { StoredView } from "../view/state.js";
import type { RunContext } from "./plan-run.js";
import { type Standing, standingsOf } from "./status.js";

/** Which view reads what, and how fresh all of it is. @param views each after what it reads. */
export async function graphOf(
  run: RunContext,
  views: readonly StoredView[],
  known?: readonly Standing[],
): Promise<LakeGraph> {
  const standings = known ?? (await standingsOf(run, views));
  const nodeOf = (source: DefinedSource): string => {
    const upstream = views.find((view) => source.kind === "view" && sameName(view.name, source.table));
    return upstream?.name ?? source.name;
  };
  const edges = views.flatMap((view, index): GraphEdge[] =>
    view.definition.sources.map((source) => {
      const changed = standings[index]?.sources.find(({ source: name }) => name === source.name)?.changed;
      return { from: nodeOf(source), to: view.name, changed: changed ?? true };
    }),
  );
  const nodes = standings.map(
    ({ view, state, strategy, horizon, asOf, lagMs }, index): ViewNode => ({
      kind: "view",
      name: view,
      state,
      strategy,
      horizon,
      asOf,
      lagMs,
      tags: views[index]?.definition.tags ?? [],
    }),
  );
  return { nodes: [...(await tableNodes(run, views)), ...nodes], edges };
}

async function tableNodes(run: RunContext, views: readonly StoredView[]): Promise<TableNode[]> {
  const tables = new Map<string, bigint | null>();
  for (const source of views.flatMap((view) => view.definition.sources)) {
    if (source.kind !== "table" || tables.has(source.name)) continue;
    tables.set(source.name, (await tableAt(run.session, run.engine, source, run.horizon))?.id ?? null);
  }
  const ids = [...tables.values()].filter((id) => id !== null);
  const changes = await newestChanges(run.session, ids);
  return [...tables]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, id]): TableNode => {
      const change = id === null ? undefined : changes.get(id);
      return { kind: "table", name, snapshot: change?.snapshot ?? null, changedAt: change?.at ?? null };
    });
}
