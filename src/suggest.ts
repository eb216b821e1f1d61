/** "Did you mean …": the closest known name to one that is not known. */

/** A hint that names the candidate that was meant, where there is one, and all that are known, where they are few. */
export function didYouMean(name: string, candidates: readonly string[], known: string): string {
  const close = closest(name, candidates);
  const meant = close === undefined ? "" : `Did you mean "${close}"? `;
  const shown = candidates.slice(0, MOST_SHOWN).join(", ");
  return `${meant}${known}: ${shown}${candidates.length > MOST_SHOWN ? ", …" : "."}`;
}

const MOST_SHOWN = 20;

/** The closest candidate, or undefined where none is close enough to be meant. */
export function closest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = plain(name);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, plain(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  // A third of the letters may be wrong, but at least one and at most three.
  const allowed = Math.min(3, Math.max(1, Math.floor(wanted.length / 3)));
  return bestDistance <= allowed ? best : undefined;
}

/** `dataPath`, `data-path` and `DATA_PATH` are all `data_path` spelled otherwise. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_\-\s]/g, "");
}

function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const substituted = at(previous, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(substituted, at(previous, column) + 1, at(current, column - 1) + 1));
    }
    previous = current;
  }
  return at(previous, to.length);
}

function at(distances: readonly number[], index: number): number {
  return distances[index] ?? Number.POSITIVE_INFINITY;
}
