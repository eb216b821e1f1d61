/** Aggregates for `aggregate`; any other one is written with `sql`. NULLs are left out, as in SQL. */
import { column, type Expression, literal, template } from "./expression.js";
import type { Like } from "./scope.js";

/** What an aggregate is of: a column's name or an expression. */
type Of<C extends string> = C | Expression<unknown, C>;

/** An aggregate's value, which can be limited to some rows. */
export interface Aggregate<T, C extends string> extends Expression<T, C> {
  /** Only of rows for which the condition is true: `FILTER (WHERE …)`. */
  where<D extends string>(condition: Expression<unknown, D>): Expression<T, C | D>;
}

/** @internal */
export function operandNode(of: string | Expression<unknown, string>) {
  return (typeof of === "string" ? column(of) : of).node;
}

function call<T, C extends string>(name: string, of: readonly Of<C>[], distinct = false): Aggregate<T, C> {
  const commas = of.slice(1).map(() => ", ");
  const texts = of.length === 0 ? [`${name}()`] : [`${name}(${distinct ? "DISTINCT " : ""}`, ...commas, ")"];
  const { node } = template<T, C>(texts, of.map(operandNode));
  const where = <D extends string>(condition: Expression<unknown, D>): Expression<T, C | D> =>
    template(["", " FILTER (WHERE ", ")"], [node, condition.node]);
  return Object.freeze({ node, where });
}

/** The number of rows, or of values that are not NULL. */
export function count<C extends string = never>(of?: Of<C>): Aggregate<bigint, C> {
  return of === undefined ? call("count", []) : call("count", [of]);
}

/** The number of different values. */
export function countDistinct<C extends string>(of: Of<C>): Aggregate<bigint, C> {
  return call("count", [of], true);
}

/** The sum; NULL of no values. */
export function sum<C extends string>(of: Of<C>): Aggregate<Like<C, "sum">, C> {
  return call("sum", [of]);
}

/** The arithmetic mean; NULL of no values. */
export function mean<C extends string>(of: Of<C>): Aggregate<number | null, C> {
  return call("avg", [of]);
}

/** The least value. */
export function min<C extends string>(of: Of<C>): Aggregate<Like<C, "same">, C> {
  return call("min", [of]);
}

/** The greatest value. */
export function max<C extends string>(of: Of<C>): Aggregate<Like<C, "same">, C> {
  return call("max", [of]);
}

/** The standard deviation of a sample; NULL of fewer than two values. */
export function stddev<C extends string>(of: Of<C>): Aggregate<number | null, C> {
  return call("stddev_samp", [of]);
}

/** The variance of a sample; NULL of fewer than two values. */
export function variance<C extends string>(of: Of<C>): Aggregate<number | null, C> {
  return call("var_samp", [of]);
}

/** The middle value, interpolated between two. */
export function median<C extends string>(of: Of<C>): Aggregate<Like<C, "middle">, C> {
  return call("median", [of]);
}

/** The value below which a share of all values is, interpolated; @param share from 0 to 1. */
export function quantile<C extends string>(of: Of<C>, share: number): Aggregate<Like<C, "middle">, C> {
  return call("quantile_cont", [of, literal(share)]);
}

/** The value of the row in which another column is least. */
export function argMin<C extends string, D extends string>(of: Of<C>, by: Of<D>): Aggregate<Like<C, "same">, C | D> {
  return call<Like<C, "same">, C | D>("arg_min", [of, by]);
}

/** The value of the row in which another column is greatest. */
export function argMax<C extends string, D extends string>(of: Of<C>, by: Of<D>): Aggregate<Like<C, "same">, C | D> {
  return call<Like<C, "same">, C | D>("arg_max", [of, by]);
}

/** True where every value is true. */
export function every<C extends string>(of: Of<C>): Aggregate<boolean | null, C> {
  return call("bool_and", [of]);
}

/** True where some value is true. */
export function some<C extends string>(of: Of<C>): Aggregate<boolean | null, C> {
  return call("bool_or", [of]);
}
