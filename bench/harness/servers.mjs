/** PostgreSQL and MinIO whose processes can be killed and begun anew on the same data. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startMinio } from "../../infra/minio.mjs";
import { startPostgres } from "../../infra/postgres.mjs";

const STARTERS = { postgres: startPostgres, s3: startMinio };
const TRIES = 40;

export class Servers {
  #folder;
  #running = new Map();
  #abort = new AbortController();

  /** Starts those that are named and not yet up. Commits survive a kill: a catalog that forgets would prove nothing. */
  async start(...names) {
    this.#folder ??= await mkdtemp(join(tmpdir(), "ducklake-ivm-servers-"));
    for (const name of names) {
      if (this.#running.has(name)) continue;
      this.#running.set(name, await STARTERS[name](this.#folder, this.#abort.signal, { durable: true }));
    }
  }

  endpoint(name) {
    return this.#running.get(name).endpoint;
  }

  /** Ends a server by a signal, and starts it again after a pause. */
  async strike(name, signal, pauseMs) {
    const server = this.#running.get(name);
    server.child.kill(signal);
    await delay(pauseMs);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await server.restart();
        return;
      } catch (error) {
        // Its own processes may still be about to end, and hold what the new ones need.
        if (attempt === TRIES) throw error;
        await delay(250);
      }
    }
  }

  async stop() {
    this.#abort.abort();
    await Promise.all([...this.#running.values()].map((server) => server.stop()));
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
