/** Parts of histories that scenarios with a table of their own share. */
import type { Event, Statement } from "../scenario.js";
import type { Draw } from "./draw.js";

export function transaction(...statements: readonly Statement[]): Event {
  return { kind: "transaction", statements };
}

/** The events with one or two changes before each refresh but the first. */
export function changedBeforeRefreshes(draw: Draw, events: readonly Event[], change: () => Event): Event[] {
  return events.flatMap((event, index): Event[] => {
    if (event.kind !== "refresh" || index === 0) return [event];
    return [...draw.times(1, 2, change), event];
  });
}
