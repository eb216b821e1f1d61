/**
 * A proxy before any server, which cuts answers short, delays them and loses them. It knows nothing of what goes
 * through, so that it serves PostgreSQL's protocol as well as HTTP.
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";

export async function startTcpProxy(target) {
  const [host, port] = target.split(":");
  const sockets = new Set();
  const proxy = {
    /** Bytes of answers that went through since the last `rule`. */
    passed: 0,
    fate: { kind: "pass" },
    /** `{kind: "cut", after}` ends all connections once so many bytes of answers were passed; `{kind: "delay", ms}`. */
    rule(fate) {
      proxy.fate = fate;
      proxy.passed = 0;
    },
    endpoint: "",
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    const upstream = connect(Number(port), host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk) => {
      const { fate } = proxy;
      if (fate.kind === "cut" && proxy.passed + chunk.length > fate.after) {
        // A part of the answer still comes through, and from then on all works again.
        client.write(chunk.subarray(0, Math.max(0, fate.after - proxy.passed)));
        proxy.rule({ kind: "pass" });
        setTimeout(cut, 1);
        return;
      }
      proxy.passed += chunk.length;
      if (fate.kind === "delay") {
        upstream.pause();
        setTimeout(() => {
          client.write(chunk);
          upstream.resume();
        }, fate.ms);
      } else {
        client.write(chunk);
      }
    });
    upstream.on("end", () => client.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy.endpoint = `127.0.0.1:${server.address().port}`;
  return proxy;
}
