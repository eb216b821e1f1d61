import { familyOf } from "../plan/aggregate-classes.js";
import {
  type AggregateCall,
  type ColumnId,
  columnExpression,
  type Expression,
  expression,
  type NamedExpression,
} from "../plan/relation.js";
import { type MomentSums, momentOf, type Side } from "./moments.js";
import {
  decimalScale,
  exactSumType,
  isFloat,
  isWord,
  type ScaledInteger,
  scaledInteger,
  unscaledTotal,
} from "./number-types.js";
import { argumentKey, type ViewPlan } from "./plan-view.js";
import { both, type CountedValue, castTo, HELPER_PREFIX, StateColumns, type StateRule, Values } from "./states.js";

export interface StateOptions {
  /** Floating-point sums are folded too. */
  readonly foldFloats: boolean;
  /** Copies of distinct values are counted; else aggregates of distinct values are read anew. */
  readonly countDistinct: boolean;
}

/** Finds the states that a view's aggregates need, and the aggregates' values as expressions over them. */
export class StateBuilder {
  readonly table = new StateColumns();
  readonly distinct: CountedValue[] = [];

  constructor(
    private readonly plan: ViewPlan,
    private readonly shown: ReadonlyMap<ColumnId, string>,
    /** Null where the groups are read anew in any case, so that only the aggregates' values are kept. */
    private readonly options: StateOptions | null,
  ) {}

  rows(): void {
    const name = `${HELPER_PREFIX}rows`;
    this.table.state(name, "BIGINT", { rule: "rows" }, expression`count(*)`, name);
  }

  /** Keeps the state of one aggregate and gives the aggregate's value as an expression over it. */
  call(call: AggregateCall): NamedExpression {
    const [argument, second] = call.arguments;
    const value = this.options === null ? undefined : this.kept(call, this.options, argument, second);
    return { id: call.id, expression: value ?? this.whole(call, { rule: "reread" }) };
  }

  /** Undefined where the aggregate has no rule, or none for its types and modifiers. */
  private kept(
    call: AggregateCall,
    options: StateOptions,
    argument: Expression | undefined,
    second: Expression | undefined,
  ): Expression | undefined {
    const family = familyOf(call.name);
    if (argument === undefined) return family === "count" ? this.countOfRows(call) : undefined;
    if (second !== undefined) {
      if (call.distinct || call.arguments.length > 2) return undefined;
      if (family === "moment") return this.moment(call, options, second, argument);
      return family === "pairs" ? this.pairs(call, argument, second) : undefined;
    }
    switch (family) {
      case "count":
        return this.count(call, argument);
      case "sum":
      case "average":
        if (isFloat(this.argumentType(call))) return options.foldFloats ? this.floatSum(call, argument) : undefined;
        return this.exactSum(call, argument);
      case "truth":
        return this.truth(call, argument);
      case "parity":
        return this.parity(call, argument);
      case "moment":
        return call.distinct ? undefined : this.moment(call, options, argument, undefined);
      case "bits":
        return this.bits(call, argument);
      case "extreme":
        return this.extreme(call, argument);
      default:
        return undefined;
    }
  }

  private countOfRows(call: AggregateCall): Expression {
    return columnExpression(this.table.countRows(call.filter ?? null, call.id, this.nameOf(call)));
  }

  private count(call: AggregateCall, argument: Expression): Expression | undefined {
    const values = this.values(call, argument);
    return values && columnExpression(this.table.count(values, call.id, this.nameOf(call)));
  }

  private exactSum(call: AggregateCall, argument: Expression): Expression | undefined {
    const type = this.argumentType(call);
    const exact = exactSumType(type);
    const values = exact === undefined ? undefined : this.values(call, argument);
    if (exact === undefined || values === undefined) return undefined;
    const count = this.table.count(values, `${call.id}.count`);
    const numbers = type === "BOOLEAN" ? values.map((value) => castTo(value, "INTEGER")) : values;
    const total = columnExpression(this.table.sum(numbers, { ...this.sumColumn(call), type: exact, count }));
    if (familyOf(call.name) === "sum") return castTo(total, this.typeOf(call));
    // As DuckDB does it: the unscaled total by the count times the scale, as doubles; NULL for no values.
    const digits = decimalScale(exact);
    const scale = `${10n ** BigInt(digits)}`;
    const [n, unscaled] = [columnExpression(count), unscaledTotal(total, digits)];
    return expression`CASE WHEN ${n} > 0 THEN CAST(${unscaled} AS DOUBLE) / (CAST(${n} AS DOUBLE) * CAST(${scale} AS DOUBLE)) END`;
  }

  private floatSum(call: AggregateCall, argument: Expression): Expression | undefined {
    if (call.distinct) return undefined;
    const values = this.allValues(call, castTo(argument, "DOUBLE"));
    const count = this.table.count(values, `${call.id}.count`);
    const endless = this.endless(call, argument);
    const sum = this.table.sum(values, { ...this.sumColumn(call), type: "DOUBLE", count, endless });
    const total = columnExpression(sum);
    return familyOf(call.name) === "sum" ? total : expression`${total} / ${columnExpression(count)}`;
  }

  private endless(call: AggregateCall, argument: Expression): ColumnId {
    const condition = both(call.filter ?? null, expression`NOT isfinite(${argument})`);
    return this.table.countRows(condition, `${call.id}.endless`, this.table.helper("endless"));
  }

  private sumColumn(call: AggregateCall): { id: ColumnId; name?: string } {
    const id = `${call.id}.sum`;
    return familyOf(call.name) === "sum" ? { id, name: this.nameOf(call) } : { id };
  }

  private truth(call: AggregateCall, argument: Expression): Expression | undefined {
    const counts = call.name === "count_if" || call.name === "countif";
    // All or any of the distinct values is all or any of the values, but the number of true ones differs.
    if (counts && call.distinct) return undefined;
    const filter = call.filter ?? null;
    const n = columnExpression(this.table.count(this.allValues(call, argument), `${call.id}.count`));
    const trueRows = this.table.countRows(both(filter, argument), `${call.id}.trues`, this.table.helper("trues"));
    const trues = columnExpression(trueRows);
    if (counts) return expression`CASE WHEN ${n} > 0 THEN CAST(${trues} AS ${this.typeOf(call)}) END`;
    const answer = call.name === "bool_and" ? expression`${trues} = ${n}` : expression`${trues} > 0`;
    return expression`CASE WHEN ${n} > 0 THEN ${answer} END`;
  }

  private parity(call: AggregateCall, argument: Expression): Expression | undefined {
    const type = this.typeOf(call);
    const values = isWord(type) ? this.values(call, argument) : undefined;
    if (values === undefined) return undefined;
    const count = this.table.count(values, `${call.id}.count`);
    return this.whole(call, { rule: "parity", ...values.rule, count, type });
  }

  private bits(call: AggregateCall, argument: Expression): Expression | undefined {
    const type = this.typeOf(call);
    if (!isWord(type) || (call.name !== "bit_and" && call.name !== "bit_or")) return undefined;
    const values = this.allValues(call, argument);
    const count = this.table.count(values, `${call.id}.count`);
    return this.whole(call, { rule: "bits", function: call.name, ...values.rule, count, type });
  }

  private extreme(call: AggregateCall, argument: Expression): Expression | undefined {
    if (call.name !== "min" && call.name !== "max") return undefined;
    return this.whole(call, { rule: "extreme", function: call.name, argument, filter: call.filter ?? null });
  }

  private pairs(call: AggregateCall, first: Expression, second: Expression): Expression {
    const values = this.allValues(call, expression`CASE WHEN ${second} IS NOT NULL THEN ${first} END`);
    return castTo(columnExpression(this.table.count(values, `${call.id}.count`)), this.typeOf(call));
  }

  /** Of a pair DuckDB takes the dependent value, y, first. */
  private moment(
    call: AggregateCall,
    options: StateOptions,
    x: Expression,
    y: Expression | undefined,
  ): Expression | undefined {
    if (options.foldFloats && y === undefined && isFloat(this.argumentType(call))) {
      const moment = momentOf(call.name, this.floatSums(call, x));
      return moment && this.whole(call, { rule: "value", ...moment });
    }
    const types = y === undefined ? [this.argumentType(call)] : [this.argumentType(call, 1), this.argumentType(call)];
    const sides = [x, ...(y === undefined ? [] : [y])].map((side, index) => scaledInteger(side, types[index]));
    const known = sides.filter((side) => side !== undefined);
    if (known.length !== sides.length) return undefined;
    const moment = momentOf(call.name, this.exactSums(call, known));
    return moment && this.whole(call, { rule: "value", ...moment });
  }

  /** Sums over the rows in which no value is NULL and all are small enough for their products to be summed. */
  private exactSums(call: AggregateCall, sides: readonly ScaledInteger[]): MomentSums {
    const { table } = this;
    const [x] = sides;
    if (x === undefined) throw new TypeError("a moment has a side");
    const of = (side: Side): ScaledInteger => (side === "y" ? sides[1] : undefined) ?? x;
    const present = sides.map((side) => expression`${side.argument} IS NOT NULL`).reduce(both);
    const guards = sides.flatMap((side) => (side.fits === null ? [] : [side.fits]));
    const fits = guards.length === 0 ? null : guards.reduce(both);
    const guard = sides.length === 1 ? fits : [present, ...guards].reduce(both);
    const over = (value: Expression): Values =>
      this.allValues(call, guard === null ? value : expression`CASE WHEN ${guard} THEN ${value} END`);
    const count = table.count(over(x.value), `${call.id}.count`);
    const sum = (value: Expression, what: string): Expression => {
      const column = { id: `${call.id}.${what}`, type: "DECIMAL(38,0)", count };
      return castTo(columnExpression(table.sum(over(value), column)), "HUGEINT");
    };
    const beyond = fits && both(call.filter ?? null, both(present, expression`NOT ${fits}`));
    const outside = beyond && table.countRows(beyond, `${call.id}.outside`, table.helper("outside"));
    return {
      n: castTo(columnExpression(count), "HUGEINT"),
      outside: outside === null ? null : columnExpression(outside),
      sum: (side) => sum(of(side).value, `sum_${side}`),
      product: (a, b) => sum(expression`CAST(${of(a).value} AS HUGEINT) * ${of(b).value}`, `sum_${a}${b}`),
      unit: (side) => of(side).unit,
      steadiness: "1e8",
      exact: true,
    };
  }

  /** Sums in floating point over the values that are finite. */
  private floatSums(call: AggregateCall, argument: Expression): MomentSums {
    const { table } = this;
    const value = expression`CASE WHEN isfinite(${argument}) THEN CAST(${argument} AS DOUBLE) END`;
    const count = table.count(this.allValues(call, value), `${call.id}.count`);
    const sum = (numbers: Expression, what: string): Expression => {
      const column = { id: `${call.id}.${what}`, type: "DOUBLE", count };
      return columnExpression(table.sum(this.allValues(call, numbers), column));
    };
    return {
      n: castTo(columnExpression(count), "DOUBLE"),
      outside: columnExpression(this.endless(call, argument)),
      sum: () => sum(value, "sum_x"),
      product: () => sum(expression`${value} * ${value}`, "sum_xx"),
      unit: () => 1n,
      steadiness: "1e4",
      exact: false,
    };
  }

  /** The aggregate's own value, kept by a rule. */
  private whole(call: AggregateCall, rule: StateRule): Expression {
    return columnExpression(this.table.state(call.id, this.typeOf(call), rule, call.expression, this.nameOf(call)));
  }

  private allValues(call: AggregateCall, argument: Expression): Values {
    return new Values(argument, call.filter ?? null);
  }

  /** Undefined where distinct values would have to be counted and are not. */
  private values(call: AggregateCall, argument: Expression): Values | undefined {
    if (!call.distinct) return this.allValues(call, argument);
    const type = this.argumentType(call);
    if (this.options?.countDistinct !== true || type === undefined) return undefined;
    const filter = call.filter ?? null;
    const known = this.distinct.findIndex(
      (value) => value.argument.sql === argument.sql && value.filter?.sql === filter?.sql,
    );
    const position = known >= 0 ? known : this.distinct.push({ id: `${call.id}.value`, type, argument, filter }) - 1;
    return new Values(argument, filter, { position, id: this.distinct[position]?.id ?? "" });
  }

  private typeOf(call: AggregateCall): string {
    return this.plan.types[call.id] ?? "VARCHAR";
  }

  private argumentType(call: AggregateCall, index = 0): string | undefined {
    return this.plan.types[argumentKey(call.id, index)];
  }

  private nameOf(call: AggregateCall): string {
    return this.shown.get(call.id) ?? this.table.helper(call.name);
  }
}
