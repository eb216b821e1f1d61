/** A proxy before object storage, which lets requests fail in every way that networks and servers know. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export type Fate =
  | "pass"
  /** Never answered, as by a server that was stopped. */
  | "stall"
  /** The connection ends without an answer, as by a server that was killed. */
  | "cut"
  /** The request does its work, and its answer gets lost. */
  | "lose answer"
  | { readonly status: number }
  | { readonly delayMs: number };

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  /** Of the answer's body. */
  readonly bytes: number;
}

export interface StoreProxy extends AsyncDisposable {
  /** `host:port`. */
  readonly endpoint: string;
  /** Decides about each request; all pass at first. */
  rule: (method: string, path: string) => Fate;
  /** What came and what the store answered; null where it was not asked. */
  readonly seen: Seen[];
}

export async function startProxy(target: string): Promise<StoreProxy> {
  const [hostname = "", port = ""] = target.split(":");
  const stalled = new Set<ServerResponse>();
  const proxy = { rule: (): Fate => "pass", seen: [] as Seen[] } as { rule: StoreProxy["rule"]; seen: Seen[] };

  const forward = (incoming: IncomingMessage, body: Buffer): Promise<{ answer: IncomingMessage; body: Buffer }> =>
    new Promise((resolve, reject) => {
      const { method = "GET", url = "/", headers } = incoming;
      // The host's name is part of what the client has signed, so it stays.
      const outgoing = request({ hostname, port, method, path: url, headers }, async (answer) => {
        try {
          resolve({ answer, body: await read(answer) });
        } catch (error) {
          reject(error);
        }
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = "GET", url = "/" } = incoming;
    const path = decodeURIComponent(url.split("?")[0] ?? "");
    const fate = proxy.rule(method, path);
    if (fate === "stall") {
      proxy.seen.push({ method, path, status: null, bytes: 0 });
      stalled.add(outgoing);
      return;
    }
    if (fate === "cut") {
      proxy.seen.push({ method, path, status: null, bytes: 0 });
      incoming.socket.destroy();
      return;
    }
    const body = await read(incoming);
    if (typeof fate === "object" && "status" in fate) {
      proxy.seen.push({ method, path, status: null, bytes: 0 });
      outgoing.writeHead(fate.status, { "content-length": 0 }).end();
      return;
    }
    if (typeof fate === "object") await delay(fate.delayMs);
    const answered = await forward(incoming, body);
    proxy.seen.push({ method, path, status: answered.answer.statusCode ?? null, bytes: answered.body.length });
    if (fate === "lose answer") {
      incoming.socket.destroy();
      return;
    }
    outgoing.writeHead(answered.answer.statusCode ?? 500, answered.answer.headers).end(answered.body);
  };

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(proxy, {
    endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const outgoing of stalled) outgoing.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

async function read(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
