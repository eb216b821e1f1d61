/** Random aggregate calls. */

import { aggregate, type Call, type Expression, literal, readsColumn, scalar } from "../ast.js";
import type { Draw } from "./draw.js";
import { type ExpressionMaker, isOrdered } from "./expression.js";
import { isDecimal, LIST } from "./values.js";

/** Types of which moments are functions of exact sums, where values are not too wide. */
const SPREAD = ["INTEGER", "BIGINT", "DECIMAL(9,2)", "DECIMAL(18,4)"];
const DEVIATIONS = ["var_samp", "var_pop", "variance", "stddev", "stddev_pop", "sem"];
const LINES = ["covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_avgy"];

const SUMMABLE = ["INTEGER", "BIGINT", "HUGEINT", "DECIMAL(9,2)", "DECIMAL(18,4)", "DECIMAL(38,2)", "DECIMAL(38,4)"];

/** Which aggregates there are beyond COUNT, SUM, AVG, MIN and MAX. */
export type OtherAggregates = "none" | "any" | "distinct" | "moments" | "bits";

export class AggregateMaker {
  constructor(
    private readonly draw: Draw,
    private readonly atoms: readonly Expression[],
    private readonly expressions: ExpressionMaker,
    private readonly others: OtherAggregates,
  ) {}

  make(): Call {
    const call = this.others !== "none" && this.draw.chance(50) ? this.other() : this.plain();
    if (!this.draw.chance(20)) return call;
    return { ...call, filter: this.expressions.condition(1) };
  }

  private plain(): Call {
    switch (this.draw.integer(0, 5)) {
      case 0:
        return aggregate("BIGINT")`COUNT(*)`;
      case 1:
        return aggregate("BIGINT")`COUNT(${this.expressions.any(1)})`;
      case 2:
        return this.sum("SUM", false);
      case 3:
        return this.sum("AVG", false);
      default: {
        const value = this.value(isOrdered);
        const call = aggregate(value.type, value.exact);
        return this.draw.chance(50) ? call`MIN(${value})` : call`MAX(${value})`;
      }
    }
  }

  private other(): Call {
    const whole = () => this.value((type) => type === "INTEGER" || type === "BIGINT");
    const counted = () => aggregate("BIGINT")`COUNT(DISTINCT ${this.value(isOrdered)})`;
    if (this.others === "distinct") return this.draw.pick([counted, counted, () => this.sum("SUM", true)])();
    if (this.others === "moments") return this.draw.chance(75) ? this.deviation() : this.line();
    if (this.others === "bits") return this.bits(whole());
    return this.draw.pick([
      counted,
      () => this.sum("SUM", true),
      () => aggregate("BOOLEAN")`bool_or(${this.expressions.condition(0)})`,
      () => aggregate("BOOLEAN")`bool_and(${this.expressions.condition(0)})`,
      () => aggregate("DOUBLE", false)`median(${whole()})`,
      () => this.sum("AVG", true),
      () => aggregate("HUGEINT")`count_if(${this.expressions.condition(0)})`,
      () => this.bits(whole()),
      () => this.deviation(),
      () => this.line(),
      () => this.pick(),
      () => this.pick(),
      () => {
        const text = this.value((type) => type === "VARCHAR", "VARCHAR");
        if (!readsColumn(text)) return aggregate("BIGINT")`COUNT(${text})`;
        return aggregate("VARCHAR")`string_agg(${text}, ',' ORDER BY ${text})`;
      },
      () => {
        const value = this.value((type) => type === "INTEGER", "INTEGER");
        if (!readsColumn(value)) return aggregate("BIGINT")`COUNT(${value})`;
        return aggregate(LIST)`list(${value} ORDER BY ${value})`;
      },
    ])();
  }

  private bits(value: Expression): Call {
    const name = this.draw.pick(["bit_and(", "bit_or(", "bit_xor(", "bit_xor(DISTINCT "]);
    return aggregate(value.type)`${literal("", name)}${value})`;
  }

  private deviation(): Call {
    const value = this.value((type) => SPREAD.includes(type));
    return aggregate("DOUBLE", false)`${literal("", this.draw.pick(DEVIATIONS))}(${value})`;
  }

  private line(): Call {
    const [y, x] = [this.value((type) => SPREAD.includes(type)), this.value((type) => SPREAD.includes(type))];
    return aggregate("DOUBLE", false)`${literal("", this.draw.pick(LINES))}(${y}, ${x})`;
  }

  /** A value of the row that comes first or last in an order which leaves nothing open. */
  private pick(): Call {
    const [value, by] = [this.value(isOrdered), this.value(isOrdered)];
    if (!readsColumn(value) || !readsColumn(by) || !value.exact || !by.exact)
      return aggregate("BIGINT")`COUNT(${value})`;
    const call = aggregate(value.type);
    return this.draw.pick([
      () => call`arg_min(${value}, (${by}, ${value}))`,
      () => call`arg_max(${value}, (${by}, ${value}))`,
      () => call`arg_max_null(${value}, (${by}, ${value}))`,
      () => call`first(${value} ORDER BY ${by}, ${value})`,
      () => call`last(${value} ORDER BY ${by}, ${value} NULLS FIRST)`,
      () => call`any_value(${value} ORDER BY ${by} DESC, ${value} DESC)`,
      () => call`first(${value} ORDER BY ${by} DESC, ${value})`,
    ])();
  }

  private sum(name: "SUM" | "AVG", distinct: boolean): Call {
    const value = this.exactDouble() ?? this.value((type) => SUMMABLE.includes(type));
    const type = name === "AVG" ? "DOUBLE" : this.sumType(value.type);
    const call = aggregate(type, type !== "DOUBLE" || (name === "SUM" && value.exact));
    const argument = this.guarded(value);
    const word = literal("", `${name}(${distinct ? "DISTINCT " : ""}`);
    return call`${word}${argument})`;
  }

  private sumType(type: string): string {
    if (type === "DOUBLE") return type;
    return isDecimal(type) ? type.replace(/\(\d+,/, "(38,") : "HUGEINT";
  }

  /** Keeps sums of extreme decimals in range, and of doubles exact whatever the order. */
  private guarded(value: Expression): Expression {
    if (value.type === "DECIMAL(38,4)") {
      return scalar(value.type)`CASE WHEN ${value} BETWEEN -1e20 AND 1e20 THEN ${value} END`;
    }
    if (value.type === "DOUBLE") {
      return scalar(value.type)`CASE WHEN isnan(${value}) OR isinf(${value}) OR abs(${value}) < 1e6 THEN ${value} END`;
    }
    return value;
  }

  /** A column whose sum does not depend on the order of its values. */
  private exactDouble(): Expression | null {
    const fitting = this.atoms.filter((atom) => atom.type === "DOUBLE" && atom.exact);
    return fitting.length > 0 && this.draw.chance(25) ? this.draw.pick(fitting) : null;
  }

  /** A column of a fitting type where there is one, else an expression over what there is. */
  private value(fits: (type: string) => boolean, otherwise = "INTEGER"): Expression {
    const fitting = this.atoms.filter((atom) => fits(atom.type));
    if (fitting.length > 0 && this.draw.chance(75)) return this.draw.pick(fitting);
    const made = this.expressions.make(otherwise, 1);
    // A literal in ORDER BY is an error, and an aggregate of one says little.
    return readsColumn(made) || fitting[0] === undefined ? made : fitting[0];
  }
}
