/** What `graph` gives. */
import type { ViewState } from "./status.js";

/** A table that views read. */
export interface TableNode {
  readonly kind: "table";
  /** As `schema.table`. */
  readonly name: string;
  /** The newest snapshot that the lake keeps in which its rows changed, and its time; null where there is none. */
  readonly snapshot: bigint | null;
  readonly changedAt: string | null;
}

/** A view and how fresh it is; see `ViewStatus`. */
export interface ViewNode {
  readonly kind: "view";
  readonly name: string;
  readonly state: ViewState;
  readonly strategy: "incremental" | "recompute";
  readonly horizon: bigint | null;
  readonly asOf: string | null;
  readonly lagMs: number | null;
  readonly tags: readonly string[];
}

/** One source of one view. */
export interface GraphEdge {
  /** The node that is read. */
  readonly from: string;
  /** The view that reads it. */
  readonly to: string;
  /** True where the view has not consumed what changed in the node. */
  readonly changed: boolean;
}

/** Which view reads what. */
export interface LakeGraph {
  /** Tables by name, then views, each after what it reads. */
  readonly nodes: readonly (TableNode | ViewNode)[];
  readonly edges: readonly GraphEdge[];
}
