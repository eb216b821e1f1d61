import { type Ast, columnRef, texts } from "../sql/ast.js";
import type { ColumnId } from "./relation.js";

export interface ScopeColumn {
  readonly name: string;
  readonly id: ColumnId;
}

/** One named item of a FROM clause. */
export interface ScopeTable {
  readonly alias: string;
  /** Set where the table may also be written with its schema. */
  readonly schema?: string;
  readonly catalog?: string;
  readonly columns: readonly ScopeColumn[];
}

/** A column that USING or NATURAL made of several. */
export interface MergedColumn {
  readonly name: string;
  readonly id: ColumnId;
  /** The ids that an unqualified `*` leaves out in favour of `id`. */
  readonly replaces: readonly ColumnId[];
}

/** The columns of a name that USING or NATURAL joins by. */
export interface Equality {
  readonly name: string;
  readonly left: ColumnId;
  readonly right: ColumnId;
}

export function mergedColumn(pair: Equality, id: ColumnId): MergedColumn {
  return { name: pair.name, id, replaces: [pair.left, pair.right, id] };
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** What names mean after a FROM clause. Names compare without case, as DuckDB does. */
export class Scope {
  constructor(
    readonly tables: readonly ScopeTable[],
    readonly merged: readonly MergedColumn[] = [],
  ) {}

  static readonly empty = new Scope([]);

  /** Both scopes side by side, as in a join. */
  join(other: Scope, merged: readonly MergedColumn[] = []): Scope {
    const names = new Set(merged.map((column) => column.name.toLowerCase()));
    const kept = [...this.merged, ...other.merged].filter((column) => !names.has(column.name.toLowerCase()));
    const earlier = [...this.merged, ...other.merged];
    const widened = merged.map((column) => {
      const same = earlier.filter((candidate) => candidate.name.toLowerCase() === column.name.toLowerCase());
      return { ...column, replaces: [...column.replaces, ...same.flatMap((candidate) => candidate.replaces)] };
    });
    return new Scope([...this.tables, ...other.tables], [...kept, ...widened]);
  }

  /** The column of an unqualified name; undefined where there is none. */
  column(name: string): ColumnId | undefined {
    const merged = this.merged.find((column) => same(column.name, name));
    if (merged !== undefined) return merged.id;
    for (const table of this.tables) {
      const column = table.columns.find((candidate) => same(candidate.name, name));
      if (column !== undefined) return column.id;
    }
    return undefined;
  }

  hasColumn(name: string): boolean {
    return this.column(name) !== undefined;
  }

  /** All columns as `*` gives them: merged columns once, where the first of them stands. */
  star(): readonly ScopeColumn[] {
    const given = new Set<ColumnId>();
    const columns: ScopeColumn[] = [];
    for (const table of this.tables) {
      for (const column of table.columns) {
        const merged = this.merged.find((candidate) => candidate.replaces.includes(column.id));
        const shown = merged === undefined ? column : { name: merged.name, id: merged.id };
        if (given.has(shown.id)) continue;
        given.add(shown.id);
        columns.push(shown);
      }
    }
    return columns;
  }

  /** All columns of one table, as `t.*` gives them. */
  tableStar(alias: string): readonly ScopeColumn[] | undefined {
    return this.tables.find((table) => same(table.alias, alias))?.columns;
  }

  /**
   * A column reference in terms of ids: the column, or fields of the struct that it holds. Undefined where the name
   * means nothing here.
   */
  resolve(reference: Ast): Ast | undefined {
    const names = texts(reference, "column_names");
    const alias = typeof reference["alias"] === "string" ? reference["alias"] : "";
    const qualified = this.qualified(names);
    if (qualified !== undefined) return fields(qualified.id, names.slice(qualified.used), alias);
    const [first = ""] = names;
    const id = this.column(first);
    return id === undefined ? undefined : fields(id, names.slice(1), alias);
  }

  private qualified(names: readonly string[]): { id: ColumnId; used: number } | undefined {
    for (const table of this.tables) {
      for (const path of [[table.alias], [table.schema, table.alias], [table.catalog, table.schema, table.alias]]) {
        const used = path.length;
        if (names.length <= used) continue;
        if (!path.every((part, index) => part !== undefined && same(part, names[index] ?? ""))) continue;
        const column = table.columns.find((candidate) => same(candidate.name, names[used] ?? ""));
        if (column !== undefined) return { id: column.id, used: used + 1 };
      }
    }
    return undefined;
  }
}

function fields(id: ColumnId, path: readonly string[], alias: string): Ast {
  let node = columnRef([id]);
  for (const field of path) {
    node = {
      class: "OPERATOR",
      type: "STRUCT_EXTRACT",
      alias: "",
      query_location: 18446744073709551615n,
      children: [
        node,
        {
          class: "CONSTANT",
          type: "VALUE_CONSTANT",
          alias: "",
          query_location: 18446744073709551615n,
          value: { type: { id: "VARCHAR", type_info: null }, is_null: false, value: field },
        },
      ],
    };
  }
  return { ...node, alias };
}
