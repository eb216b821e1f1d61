import type { ProgressOptions } from "../types.js";

/** Tells a caller's listener. */
export type Notify<Event> = (event: Event) => void;

/** The listener of a call's options, which can't disturb the call; nothing where there is none. */
export function notifier<Event>({ onProgress }: ProgressOptions<Event>): Notify<Event> {
  if (onProgress === undefined) return () => undefined;
  return (event) => {
    try {
      onProgress(event);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };
}
