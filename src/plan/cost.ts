/**
 * What a refresh is expected to cost, in milliseconds: by the rules or by a recompute. The catalog says how many rows
 * there are and how many changed; earlier refreshes of the view say how long such work takes here. Pure arithmetic.
 */

export type CostStrategy = "incremental" | "recompute";

/** The work that a refresh has before it. */
export interface Work {
  /** Rows of all scans of the definition at the horizon, a table counted as often as it is read. */
  readonly rows: number;
  /** Changed rows of all sources. */
  readonly changed: number;
  /** Terms whose source changed. */
  readonly terms: number;
}

/** A refresh that was measured. */
export interface Measurement extends Work {
  readonly strategy: CostStrategy;
  readonly ms: number;
  /** Which refresh of the view it was, counted from its first. */
  readonly refresh: number;
  /** True for the view's first build, which says how dear the query is but is no refresh. */
  readonly initial?: boolean;
}

/** What is remembered of a view's refreshes. */
export interface CostHistory {
  readonly refreshes: number;
  readonly measurements: readonly Measurement[];
}

interface Estimate {
  readonly ms: number;
  /** `measured`: a refresh of this kind and about this size was timed before; else it is told from row counts. */
  readonly basis: "measured" | "rows";
}

export interface CostChoice {
  readonly strategy: CostStrategy;
  readonly incremental: Estimate;
  readonly recompute: Estimate;
  readonly work: Work;
  /** True where the dearer strategy is tried to find out what it costs now. */
  readonly trial: boolean;
}

export const NO_HISTORY: CostHistory = { refreshes: 0, measurements: [] };

/** Milliseconds of a refresh that has next to nothing to do: metadata, temporary tables and one commit. */
const BASE_MS = 60;
/** Milliseconds a term costs however few rows it has. */
const TERM_MS = 15;
const SCAN_ROWS_PER_MS = 5000;
/** A term joins with the other sources, which keys and statistics let it read a part of. */
const TERM_SCAN_ROWS_PER_MS = 20_000;
/** Changed rows are read, consolidated, joined and folded. */
const CHANGED_ROWS_PER_MS = 400;
/** A recompute compares all rows and writes those that differ. */
const WRITTEN_ROWS_PER_MS = 2000;

/** Below so many rows either takes about as long as its overhead, and incremental is taken without counting. */
export const SMALL_ROWS = 50_000;
/** While one of them was not timed, a recompute must promise to be this much cheaper. */
const IN_DOUBT_FACTOR = 1.5;
/** A strategy that was not timed lately is tried when it is estimated at no more than so many times the other. */
const TRIAL_FACTOR = 2.5;
const TRIAL_EVERY = 32;
/** Measurements of one strategy and about one size that are kept. */
const KEPT = 3;

/** From row counts alone. */
function prior(strategy: CostStrategy, work: Work): number {
  if (strategy === "recompute") return BASE_MS + work.rows / SCAN_ROWS_PER_MS + work.changed / WRITTEN_ROWS_PER_MS;
  return BASE_MS + work.terms * (TERM_MS + work.rows / TERM_SCAN_ROWS_PER_MS) + work.changed / CHANGED_ROWS_PER_MS;
}

/**
 * The prior, corrected by what measured refreshes took against their own prior: the correction is taken over from the
 * sizes next to this one, below and above, by their distance on a logarithmic scale.
 */
function estimate(strategy: CostStrategy, work: Work, history: CostHistory): Estimate {
  const known = factors(history.measurements.filter((past) => past.strategy === strategy && past.initial !== true));
  const expected = prior(strategy, work);
  if (known.length === 0) return { ms: expected * borrowed(history), basis: "rows" };
  const position = magnitude(work);
  const below = known.filter((factor) => factor.magnitude <= position).at(-1);
  const above = known.find((factor) => factor.magnitude >= position);
  const nearest = [below, above].filter((factor) => factor !== undefined);
  const basis = nearest.some((factor) => Math.abs(factor.magnitude - position) <= 1) ? "measured" : "rows";
  return { ms: expected * between(position, below, above), basis };
}

interface Factor {
  readonly magnitude: number;
  readonly factor: number;
}

/** The median correction of each size, from small to large. */
function factors(measurements: readonly Measurement[]): Factor[] {
  return [...new Set(measurements.map(magnitude))]
    .sort((a, b) => a - b)
    .map((size) => ({
      magnitude: size,
      factor: median(measurements.filter((past) => magnitude(past) === size).map(correction)),
    }));
}

/** What a refresh took against what its row counts say. */
function correction(past: Measurement): number {
  return past.ms / prior(past.strategy, past);
}

function between(position: number, below: Factor | undefined, above: Factor | undefined): number {
  if (below === undefined || above === undefined) {
    const nearest = below ?? above;
    if (nearest === undefined) return 1;
    // The further away, the less a measurement says of this size.
    return nearest.factor ** (1 / (1 + Math.abs(position - nearest.magnitude) / 2));
  }
  if (below.magnitude === above.magnitude) return below.factor;
  const share = (position - below.magnitude) / (above.magnitude - below.magnitude);
  return below.factor ** (1 - share) * above.factor ** share;
}

/** A query that is dearer than its row counts say is so for both strategies. */
function borrowed(history: CostHistory): number {
  const known = history.measurements.map(correction);
  return known.length === 0 ? 1 : median(known);
}

/** Sizes that differ by less than a factor of four are about the same. */
function magnitude(work: Work): number {
  return Math.floor(Math.log2(work.changed + 1) / 2);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 1;
}

/** The cheaper strategy by the estimates, or now and then the other one where it may have become cheaper. */
export function chooseByCost(work: Work, history: CostHistory): CostChoice {
  const incremental = estimate("incremental", work, history);
  const recompute = estimate("recompute", work, history);
  const certain = incremental.basis === "measured" && recompute.basis === "measured";
  const bound = recompute.ms * (certain ? 1 : IN_DOUBT_FACTOR);
  const cheaper = incremental.ms <= bound || work.rows < SMALL_ROWS ? "incremental" : "recompute";
  const other = cheaper === "incremental" ? "recompute" : "incremental";
  const estimates = { incremental, recompute };
  const trial =
    work.rows >= SMALL_ROWS &&
    estimates[other].ms <= TRIAL_FACTOR * estimates[cheaper].ms &&
    estimates[cheaper].basis === "measured" &&
    isDue(other, work, history);
  return { strategy: trial ? other : cheaper, incremental, recompute, work, trial };
}

function isDue(strategy: CostStrategy, work: Work, history: CostHistory): boolean {
  const alike = history.measurements.filter(
    (past) => past.strategy === strategy && past.initial !== true && magnitude(past) === magnitude(work),
  );
  const last = Math.max(...alike.map((past) => past.refresh));
  return history.refreshes - last >= TRIAL_EVERY;
}

/** The history with one more refresh; of each strategy and size the newest few are kept. */
export function remember(history: CostHistory, measurement: Omit<Measurement, "refresh">): CostHistory {
  const added: Measurement = { ...measurement, refresh: history.refreshes };
  const alike = (past: Measurement): boolean =>
    past.strategy === added.strategy &&
    (past.initial === true) === (added.initial === true) &&
    magnitude(past) === magnitude(added);
  const kept = history.measurements.filter(alike).slice(-(KEPT - 1));
  const others = history.measurements.filter((past) => !alike(past));
  return { refreshes: history.refreshes + 1, measurements: [...others, ...kept, added] };
}
