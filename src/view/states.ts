import { type AggregateCall, type ColumnId, columnExpression, type Expression, expression } from "../plan/relation.js";

/** A column of a view's physical table. */
export interface PhysicalColumn {
  readonly name: string;
  readonly id: ColumnId;
  /** The type that the value has in expressions. */
  readonly type: string;
  /** The type in which DuckLake holds it. */
  readonly stored: string;
}

export type DraftColumn = Omit<PhysicalColumn, "stored">;

/** The rows that a state is made from. */
interface Taken {
  readonly filter: Expression | null;
  /** Set where each distinct value counts once: the position in the layout's `distinct`, whose filter holds already. */
  readonly values?: number;
}

/** How a state of a group is kept up to date. */
export type StateRule =
  | { readonly rule: "rows" }
  | ({ readonly rule: "count"; readonly argument: Expression | null } & Taken)
  | ({
      readonly rule: "sum";
      readonly argument: Expression;
      readonly count: ColumnId;
      readonly type: string;
      /** The number of values that are NaN or infinite: with them a sum says nothing of the others. */
      readonly endless?: ColumnId;
    } & Taken)
  | ({
      readonly rule: "parity";
      readonly argument: Expression;
      readonly count: ColumnId;
      readonly type: string;
    } & Taken)
  | ({
      readonly rule: "bits";
      readonly function: "bit_and" | "bit_or";
      readonly argument: Expression;
      readonly count: ColumnId;
      readonly type: string;
    } & Taken)
  | ({ readonly rule: "extreme"; readonly function: "min" | "max"; readonly argument: Expression } & Taken)
  /** A function of other states; where those do not give it closely enough, the group is evaluated anew. */
  | { readonly rule: "value"; readonly value: Expression; readonly trusted: Expression }
  /** Only evaluating the group's rows anew gives the value. */
  | { readonly rule: "reread" };

export interface GroupState {
  readonly id: ColumnId;
  readonly rule: StateRule;
}

/** Values whose copies are counted in each group, so that an aggregate can take every distinct one once. */
export interface CountedValue {
  readonly id: ColumnId;
  readonly type: string;
  readonly argument: Expression;
  readonly filter: Expression | null;
}

export const HELPER_PREFIX = "_ivm_";

/** Columns that DuckLake gives every table; a stored column of the name would hide them. */
const VIRTUAL_COLUMNS = new Set(["rowid", "snapshot_id", "filename", "file_row_number", "file_index"]);

export function storedName(name: string): string {
  return VIRTUAL_COLUMNS.has(name.toLowerCase()) ? `${HELPER_PREFIX}column_${name}` : name;
}

/** What an aggregate of one value is made from: the values of all rows, or each distinct value once. */
export class Values {
  constructor(
    private readonly argument: Expression,
    private readonly filter: Expression | null,
    /** The counted value, where each distinct one counts once. */
    private readonly distinct?: { readonly position: number; readonly id: ColumnId },
    private readonly change: (argument: Expression) => Expression = (argument) => argument,
  ) {}

  /** The same values, each changed. */
  map(change: (argument: Expression) => Expression): Values {
    return new Values(this.argument, this.filter, this.distinct, (argument) => change(this.change(argument)));
  }

  /** Equal for equal values of equal rows. */
  get form(): string {
    return JSON.stringify([this.value.sql, this.filter?.sql ?? null, this.distinct?.position ?? null]);
  }

  /** An aggregate of them, over the rows of the group. */
  over(name: string): Expression {
    const word = this.distinct === undefined ? "" : "DISTINCT ";
    const { sql, columns } = this.value;
    return filtered({ sql: `${name}(${word}${sql})`, columns }, this.filter);
  }

  /** What a rule takes: from the changed rows, or from the distinct values that came or went. */
  get rule(): Taken & { readonly argument: Expression } {
    if (this.distinct === undefined) return { argument: this.value, filter: this.filter };
    const argument = this.change(columnExpression(this.distinct.id));
    return { argument, filter: null, values: this.distinct.position };
  }

  private get value(): Expression {
    return this.change(this.argument);
  }
}

/** The columns of a physical table that hold states of groups; equal states are kept once. */
export class StateColumns {
  readonly columns: DraftColumn[] = [];
  readonly states: GroupState[] = [];
  readonly calls: AggregateCall[] = [];
  private readonly known = new Map<string, ColumnId>();

  column(id: ColumnId, name: string, type: string): void {
    this.columns.push({ id, name: storedName(name), type });
  }

  helper(what: string): string {
    return `${HELPER_PREFIX}${what}${this.columns.length + 1}`;
  }

  state(id: ColumnId, type: string, rule: StateRule, initial: Expression, name: string): ColumnId {
    this.column(id, name, type);
    this.states.push({ id, rule });
    this.calls.push({ id, name: "state", arguments: [], distinct: false, ordered: false, expression: initial });
    return id;
  }

  /** The number of values that are not NULL. */
  count(values: Values, id: ColumnId, name = this.helper("count")): ColumnId {
    return this.once(`count ${values.form}`, id, () =>
      this.state(id, "BIGINT", { rule: "count", ...values.rule }, values.over("count"), name),
    );
  }

  /** The number of rows for which a condition is true. */
  countRows(filter: Expression | null, id: ColumnId, name = this.helper("count")): ColumnId {
    return this.once(`count rows ${filter?.sql ?? ""}`, id, () => {
      const rule = { rule: "count", argument: null, filter } as const;
      return this.state(id, "BIGINT", rule, filtered(expression`count(*)`, filter), name);
    });
  }

  /** The sum of values, NULL where there are none; `count` is their number. */
  sum(values: Values, sum: SumColumn): ColumnId {
    const { type, count, id, endless } = sum;
    return this.once(`sum ${values.form}`, id, () => {
      const total = values.over("sum");
      const rule = { rule: "sum", ...values.rule, count, type, ...(endless === undefined ? {} : { endless }) } as const;
      return this.state(id, type, rule, castTo(total, type), sum.name ?? this.helper("sum"));
    });
  }

  private once(form: string, id: ColumnId, make: () => ColumnId): ColumnId {
    const known = this.known.get(form);
    if (known !== undefined) return known;
    this.known.set(form, id);
    return make();
  }
}

interface SumColumn {
  readonly id: ColumnId;
  readonly type: string;
  readonly count: ColumnId;
  readonly name?: string;
  readonly endless?: ColumnId;
}

export function castTo(value: Expression, type: string): Expression {
  return { sql: `CAST(${value.sql} AS ${type})`, columns: value.columns };
}

/** Both conditions; the first may be missing. */
export function both(first: Expression | null, second: Expression): Expression {
  return first === null ? second : expression`${first} AND ${second}`;
}

function filtered(call: Expression, filter: Expression | null): Expression {
  if (filter === null) return call;
  const columns = [...new Set([...call.columns, ...filter.columns])];
  return { sql: `${call.sql} FILTER (WHERE ${filter.sql})`, columns };
}
