/** Values that run along an order, for `accumulate`; any other one is written with `sql`. */
import { DefinitionError } from "../errors.js";
import { operandNode } from "./aggregates.js";
import { type Expression, template } from "./expression.js";
import type { Like } from "./scope.js";

type Of<C extends string> = C | Expression<unknown, C>;

/** A value that is added to every row. */
export interface Accumulation<T, C extends string> {
  readonly expression: Expression<T, C>;
  /** The number of rows up to the present one that it is of; null for all from the first on. */
  readonly frame: number | null;
}

function running<T, C extends string>(name: string, of: Of<C>, rows: number | null = null): Accumulation<T, C> {
  if (rows !== null && (!Number.isSafeInteger(rows) || rows < 1)) {
    throw new DefinitionError("builder_rows", `${rows} is no number of rows.`, {
      hint: "Give a whole number from 1 on.",
    });
  }
  return Object.freeze({ expression: template<T, C>([`${name}(`, ")"], [operandNode(of)]), frame: rows });
}

/** The sum up to the present row. Rows that are equal along the order are taken together. */
export function runningSum<C extends string>(of: Of<C>): Accumulation<Like<C, "sum">, C> {
  return running("sum", of);
}

/** The number of values up to the present row, those that are equal along the order taken together. */
export function runningCount<C extends string>(of: Of<C>): Accumulation<bigint, C> {
  return running("count", of);
}

/** The mean up to the present row, rows that are equal along the order taken together. */
export function runningMean<C extends string>(of: Of<C>): Accumulation<number | null, C> {
  return running("avg", of);
}

/** The least value up to the present row. */
export function runningMin<C extends string>(of: Of<C>): Accumulation<Like<C, "same">, C> {
  return running("min", of);
}

/** The greatest value up to the present row. */
export function runningMax<C extends string>(of: Of<C>): Accumulation<Like<C, "same">, C> {
  return running("max", of);
}

/** The sum of the last rows, the present one among them. `along` must tell the rows apart. */
export function movingSum<C extends string>(of: Of<C>, rows: number): Accumulation<Like<C, "sum">, C> {
  return running("sum", of, rows);
}

/** The mean of the last rows, the present one among them. `along` must tell the rows apart. */
export function movingAverage<C extends string>(of: Of<C>, rows: number): Accumulation<number | null, C> {
  return running("avg", of, rows);
}

/** The value of an earlier row, NULL where there is none. `along` must tell the rows apart. */
export function lag<C extends string>(of: Of<C>, rows = 1): Accumulation<Like<C, "same">, C> {
  return shifted("lag", of, rows);
}

/** The value of a later row, NULL where there is none. `along` must tell the rows apart. */
export function lead<C extends string>(of: Of<C>, rows = 1): Accumulation<Like<C, "same">, C> {
  return shifted("lead", of, rows);
}

/** The row's number, from 1. `along` must tell the rows apart. */
export function rowNumber(): Accumulation<bigint, never> {
  return plain("row_number()");
}

/** The row's rank: equal rows have the same one, and those after them leave a gap. */
export function rank(): Accumulation<bigint, never> {
  return plain("rank()");
}

/** The row's rank without gaps. */
export function denseRank(): Accumulation<bigint, never> {
  return plain("dense_rank()");
}

function shifted<C extends string>(name: string, of: Of<C>, rows: number): Accumulation<Like<C, "same">, C> {
  const values = [operandNode(of), { kind: "literal" as const, value: rows }];
  return Object.freeze({ expression: template<Like<C, "same">, C>([`${name}(`, ", ", ")"], values), frame: null });
}

function plain(call: string): Accumulation<bigint, never> {
  return Object.freeze({ expression: template<bigint>([call], []), frame: null });
}

/** A column to go along from the greatest value to the least. */
export interface Descending<C extends string> {
  readonly descending: Of<C>;
}

/** Turns the order of a column around. */
export function descending<C extends string>(of: Of<C>): Descending<C> {
  return Object.freeze({ descending: of });
}
