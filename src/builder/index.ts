/**
 * Definitions of views in TypeScript: sources, joins, conditions, aggregates and accumulations, which become SQL text.
 * It opens nothing and loads nothing but itself.
 */
export {
  type Accumulation,
  type Descending,
  denseRank,
  descending,
  lag,
  lead,
  movingAverage,
  movingSum,
  rank,
  rowNumber,
  runningCount,
  runningMax,
  runningMean,
  runningMin,
  runningSum,
} from "./accumulations.js";
export {
  type Aggregate,
  argMax,
  argMin,
  count,
  countDistinct,
  every,
  max,
  mean,
  median,
  min,
  quantile,
  some,
  stddev,
  sum,
  variance,
} from "./aggregates.js";
export { and, column, type Expression, type Literal, literal, not, or, type SqlPart, sql } from "./expression.js";
export { fromSql, type KeyedQuery, type Query, type RowType, source } from "./query.js";
export type { AnyRow } from "./scope.js";
export { type ViewOptions, view } from "./view.js";
