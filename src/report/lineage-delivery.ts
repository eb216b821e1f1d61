import { appendFile } from "node:fs/promises";
import type { OpenLineageConfig, Reason } from "../types.js";

const DEFAULT_TIMEOUT_MS = 5_000;
const DEFAULT_PATH = "/api/v1/lineage";

/**
 * Sends events in their order, beside the work that they tell of. The first that can't be delivered ends the delivery:
 * a server that is down is asked once a run.
 */
export class LineageDelivery {
  private queue: Promise<void> = Promise.resolve();
  private readonly stop = new AbortController();
  private readonly lost = new Map<string, { events: number; reason: string }>();

  constructor(private readonly config: OpenLineageConfig) {}

  send(event: object): void {
    const text = JSON.stringify(event);
    const { url, file } = this.config;
    this.queue = this.queue.then(async () => {
      if (file !== undefined) await this.attempt(file, () => appendFile(file, `${text}\n`));
      if (url !== undefined) await this.attempt(placeOf(url), () => this.post(url, text));
    });
  }

  /** Waits for the rest, within the time that was set. */
  async finish(): Promise<Reason[]> {
    const timer = setTimeout(() => this.stop.abort(), this.timeoutMs);
    await this.queue;
    clearTimeout(timer);
    return [...this.lost].map(([place, { events, reason }]) => ({
      code: "lineage_not_delivered",
      text: `${events} lineage events could not be delivered to ${place}: ${reason}`,
    }));
  }

  private get timeoutMs(): number {
    return this.config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  private async attempt(place: string, deliver: () => Promise<void>): Promise<void> {
    const known = this.lost.get(place);
    if (known !== undefined) {
      known.events += 1;
      return;
    }
    try {
      await deliver();
    } catch (error) {
      this.lost.set(place, { events: 1, reason: reasonOf(error) });
    }
  }

  private async post(url: string, body: string): Promise<void> {
    const { apiKey } = this.config;
    const answer = await fetch(addressOf(url), {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      redirect: "error",
      signal: AbortSignal.any([this.stop.signal, AbortSignal.timeout(this.timeoutMs)]),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  }
}

function addressOf(url: string): URL {
  const address = new URL(url);
  if (address.pathname === "/") address.pathname = DEFAULT_PATH;
  return address;
}

/** An address without what may be secret in it. */
function placeOf(url: string): string {
  return new URL(url).origin;
}

function reasonOf(error: unknown): string {
  const { message, cause, name } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === "TimeoutError" || name === "AbortError") return "no answer in time";
  return cause?.code ?? cause?.message ?? message;
}
