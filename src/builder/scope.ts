/** What TypeScript knows of the columns in scope: an object with a row type for each alias, `""` for those without one. */
import type { Expression } from "./expression.js";

/** A row of which nothing is known: any column name is taken, and checked when the lake is open. */
export type AnyRow = { readonly [column: string]: unknown };

type Key<T> = keyof T & string;
type UnionToIntersection<U> = (U extends unknown ? (part: U) => void : never) extends (part: infer I) => void
  ? I
  : never;
type Flatten<T> = { -readonly [K in keyof T]: T[K] };

/** The names by which columns in scope can be called: `column` and `alias.column`. */
export type ColumnOf<S> = {
  [A in Key<S>]: A extends "" ? Key<S[A]> : `${A}.${Key<S[A]>}` | Key<S[A]>;
}[Key<S>];

/** The value of a column in scope. */
export type ValueOf<S, C> = Qualified<S, C> | Bare<S, C>;
type Qualified<S, C> = C extends `${infer A}.${infer K}`
  ? A extends Key<S>
    ? K extends keyof S[A]
      ? S[A][K]
      : never
    : never
  : never;
type Bare<S, C> = { [A in Key<S>]: C extends keyof S[A] ? S[A][C] : never }[Key<S>];

/** A column's own name, without an alias. */
type NameOf<S, C> = C extends `${infer A}.${infer K}` ? (A extends Key<S> ? K : C) : C;

/** All columns in scope as one row. */
export type RowOf<S> = Flatten<UnionToIntersection<S[keyof S]>>;

/** Rows that an outer join may fill with NULL. */
export type Nullable<S> = { [A in keyof S]: { [K in keyof S[A]]: S[A][K] | null } };

/** Makes a column in scope an expression; its name is checked. */
export type Columns<S> = <C extends ColumnOf<S>>(name: C) => Expression<ValueOf<S, C>>;

/** A value: a column's name, an expression, or a function that makes one of columns in scope. */
type Operand<S> =
  | ColumnOf<S>
  | Expression<unknown, ColumnOf<S>>
  | ((column: Columns<S>) => Expression<unknown, ColumnOf<S>>);

declare const like: unique symbol;
/** Stands for a type that follows from a column's, which is known only where the expression is used. */
export interface Like<C, How> {
  readonly [like]: [C, How];
}

type Resolve<S, T> = T extends Like<infer C, infer How> ? Follow<ValueOf<S, C>, How> : T;
type Follow<V, How> = How extends "same"
  ? V | null
  : How extends "sum"
    ? Sum<Exclude<V, null>> | null
    : How extends "middle"
      ? Middle<Exclude<V, null>> | null
      : never;
// The sum of integers is wider than they are.
type Sum<V> = V extends number ? number | bigint : V;
type Middle<V> = V extends number | bigint ? number : V;

/** The value that an operand gives. */
type OperandValue<S, O> = O extends string
  ? ValueOf<S, O>
  : O extends Expression<infer T, string>
    ? Resolve<S, T>
    : O extends (...arguments_: never[]) => Expression<infer T, string>
      ? Resolve<S, T>
      : never;

/** What `select` takes: a column, `alias.*`, `*`, or values under new names. */
export type SelectItem<S> = ColumnOf<S> | Star<S> | { readonly [name: string]: Operand<S> };
type Star<S> = "*" | `${Exclude<Key<S>, "">}.*`;

type SelectedBy<S, I> = I extends "*"
  ? RowOf<S>
  : I extends `${infer A}.*`
    ? A extends Key<S>
      ? S[A]
      : never
    : I extends string
      ? { [K in NameOf<S, I> & string]: ValueOf<S, I> }
      : { -readonly [K in keyof I]: OperandValue<S, I[K]> };

export type Selected<S, Items extends readonly unknown[]> = Flatten<UnionToIntersection<SelectedBy<S, Items[number]>>>;

/** Columns to group by; those that are expressions get names. */
export type Grouping<S> = ColumnOf<S> | readonly (ColumnOf<S> | { readonly [name: string]: Operand<S> })[];

type Grouped<S, By> = [By] extends [undefined]
  ? object
  : By extends string
    ? SelectedBy<S, By>
    : By extends readonly unknown[]
      ? UnionToIntersection<SelectedBy<S, By[number]>>
      : object;

/** The row that `aggregate` gives. */
export type Aggregated<S, Spec> = Flatten<
  Grouped<S, Spec extends { readonly by: infer By } ? By : undefined> & {
    [K in Exclude<keyof Spec, "by">]: OperandValue<S, Spec[K]>;
  }
>;

/** The row that `accumulate` gives. */
export type Accumulated<S, Spec> = Flatten<
  RowOf<S> & { [K in Exclude<keyof Spec, "by" | "along">]: AccumulatedValue<S, Spec[K]> }
>;
type AccumulatedValue<S, A> = A extends { readonly expression: Expression<infer T, string> } ? Resolve<S, T> : never;
