import { type Expression, expression } from "../plan/relation.js";

/**
 * Variances, covariances and regressions as functions of sums: with n values, the spread of a and b is
 *
 *   S(a, b) = n·Σab − Σa·Σb        (n² times their covariance)
 *
 * which exact sums give exactly, before anything is rounded. DuckDB itself goes through the values one by one in
 * floating point (Welford's method), and its error grows with the ratio of mean to deviation and, for products, with
 * how little the two values have to do with each other. Where that error could be seen, the sums' answer is not
 * trusted, so that the stored value is DuckDB's own.
 */
export type Side = "x" | "y";

export interface MomentSums {
  /** The number of values, in the type of the sums. */
  readonly n: Expression;
  /** The number of values that are not in the sums; null where there can be none. */
  readonly outside: Expression | null;
  /** Σ of a side, scaled; asking for it has it stored. */
  sum(side: Side): Expression;
  /** Σ of the product of two sides, scaled. */
  product(a: Side, b: Side): Expression;
  /** By how much a side was multiplied. */
  unit(side: Side): bigint;
  /** How large mean² may be against the variance for the answer to be trusted. */
  readonly steadiness: string;
  /** True where a spread of 0 is exact. */
  readonly exact: boolean;
}

export interface Moment {
  readonly value: Expression;
  readonly trusted: Expression;
}

/** A product whose correlation is below the root of this is not trusted. */
const RELATED = "1e-6";

/** The moment of a name; undefined for a name that is none. */
export function momentOf(name: string, sums: MomentSums): Moment | undefined {
  const of = new Moments(sums);
  switch (name) {
    case "var_pop":
      return of.moment(of.variance("x"), [of.steady("x")]);
    case "var_samp":
    case "variance":
      return of.moment(of.sample(of.spread("x", "x")), [of.steady("x")]);
    case "stddev_pop":
      return of.moment(expression`sqrt(${of.variance("x")})`, [of.steady("x")]);
    case "stddev_samp":
    case "stddev":
      return of.moment(expression`sqrt(${of.sample(of.spread("x", "x"))})`, [of.steady("x")]);
    case "sem":
      return of.moment(expression`sqrt(${of.variance("x")}) / sqrt(${of.n})`, [of.steady("x")]);
    case "covar_pop":
      return of.moment(expression`${of.spread("x", "y")} / (${of.n} * ${of.n})`, of.product());
    case "covar_samp":
      return of.moment(of.sample(of.spread("x", "y")), of.product());
    case "corr":
      return of.moment(
        expression`CASE WHEN ${of.flat("x")} OR ${of.flat("y")} THEN CAST('NaN' AS DOUBLE) ELSE ${of.spread("x", "y")} / (sqrt(${of.spread("x", "x")}) * sqrt(${of.spread("y", "y")})) END`,
        of.product(),
      );
    case "regr_avgx":
      return of.moment(of.mean("x"), [of.centred("x")]);
    case "regr_avgy":
      return of.moment(of.mean("y"), [of.centred("y")]);
    case "regr_sxx":
      return of.moment(expression`${of.spread("x", "x")} / ${of.n}`, [of.steady("x")]);
    case "regr_syy":
      return of.moment(expression`${of.spread("y", "y")} / ${of.n}`, [of.steady("y")]);
    case "regr_sxy":
      return of.moment(expression`${of.spread("x", "y")} / ${of.n}`, of.product());
    case "regr_slope":
      return of.moment(
        expression`CASE WHEN ${of.flat("x")} THEN CAST('NaN' AS DOUBLE) ELSE ${of.slope()} END`,
        of.product(),
      );
    case "regr_intercept": {
      const [rise, level] = [expression`${of.slope()} * ${of.mean("x")}`, of.mean("y")];
      const value = expression`${level} - ${rise}`;
      // A difference of two nearly equal numbers has their error.
      const apart = expression`abs(${value}) >= 1e-3 * (abs(${level}) + abs(${rise}))`;
      return of.moment(expression`CASE WHEN NOT ${of.flat("x")} THEN ${value} END`, [
        ...of.product(),
        expression`${of.flat("x")} OR ${apart}`,
      ]);
    }
    case "regr_r2":
      return of.moment(
        expression`CASE WHEN ${of.flat("x")} THEN NULL WHEN ${of.flat("y")} THEN 1.0::DOUBLE ELSE pow(${of.spread("x", "y")}, 2) / (${of.spread("x", "x")} * ${of.spread("y", "y")}) END`,
        of.product(),
      );
    default:
      return undefined;
  }
}

/** The parts of moments; whatever is asked for is stored. */
class Moments {
  readonly n: Expression;

  constructor(private readonly sums: MomentSums) {
    this.n = expression`CAST(${sums.n} AS DOUBLE)`;
  }

  /** NULL without values, which is always trusted. */
  moment(value: Expression, conditions: readonly Expression[]): Moment {
    const { n, outside } = this.sums;
    const trusted = conditions.reduce((all, next) => expression`${all} AND ${next}`);
    const known = expression`${n} = 0 OR ${trusted}`;
    return {
      value: expression`CASE WHEN ${n} > 0 THEN ${value} END`,
      trusted: outside === null ? known : expression`${outside} = 0 AND ${known}`,
    };
  }

  spread(a: Side, b: Side): Expression {
    const unit = this.sums.unit(a) * this.sums.unit(b);
    const spread = expression`CAST(${this.raw(a, b)} AS DOUBLE)`;
    return unit === 1n ? spread : expression`${spread} / ${`${unit}`}::DOUBLE`;
  }

  /** True where all values are the same. */
  flat(side: Side): Expression {
    return expression`${this.raw(side, side)} = 0`;
  }

  variance(side: Side): Expression {
    return expression`${this.spread(side, side)} / (${this.n} * ${this.n})`;
  }

  /** Over one less than the number of values; NULL for one value. */
  sample(spread: Expression): Expression {
    return expression`CASE WHEN ${this.n} > 1 THEN ${spread} / (${this.n} * (${this.n} - 1)) END`;
  }

  mean(side: Side): Expression {
    const unit = this.sums.unit(side);
    const total = expression`CAST(${this.sums.sum(side)} AS DOUBLE)`;
    return expression`${unit === 1n ? total : expression`${total} / ${`${unit}`}::DOUBLE`} / ${this.n}`;
  }

  slope(): Expression {
    return expression`${this.spread("x", "y")} / ${this.spread("x", "x")}`;
  }

  /** The mean is not so large against the deviation that DuckDB's own answer has lost digits. */
  steady(side: Side): Expression {
    const [raw, total] = [this.raw(side, side), this.sums.sum(side)];
    const even = expression`pow(CAST(${total} AS DOUBLE), 2) <= ${this.sums.steadiness} * CAST(${raw} AS DOUBLE)`;
    // What is left of floating-point sums after others were taken away may be 0, less, or nothing at all.
    return this.sums.exact
      ? expression`${raw} = 0 OR ${even}`
      : expression`isfinite(${raw}) AND ${raw} > 0 AND ${even}`;
  }

  /** The mean is not so small against the values that a sum in floating point has lost digits. */
  centred(side: Side): Expression {
    const unscaled = this.sums.unit(side) === 1n;
    if (unscaled) return expression`true`;
    const [n, total, squares] = [this.sums.n, this.sums.sum(side), this.sums.product(side, side)];
    return expression`pow(CAST(${total} AS DOUBLE), 2) >= 1e-8 * CAST(${n} AS DOUBLE) * CAST(${squares} AS DOUBLE)`;
  }

  /** What a product of the two sides needs to be trusted. */
  product(): readonly Expression[] {
    const [xx, yy, xy] = [this.spread("x", "x"), this.spread("y", "y"), this.spread("x", "y")];
    const related = expression`pow(${xy}, 2) >= ${RELATED} * ${xx} * ${yy}`;
    return [this.steady("x"), this.steady("y"), expression`${this.flat("x")} OR ${this.flat("y")} OR ${related}`];
  }

  private raw(a: Side, b: Side): Expression {
    const { sums } = this;
    return expression`${sums.n} * ${sums.product(a, b)} - ${sums.sum(a)} * ${sums.sum(b)}`;
  }
}
