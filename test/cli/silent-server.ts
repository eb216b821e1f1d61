import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** Takes connections and never answers. */
export async function silentServer(): Promise<
  AsyncDisposable & { readonly port: number; readonly connected: Promise<unknown> }
> {
  const server = createServer();
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket.on("error", () => undefined)));
  const connected = once(server, "connection");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    connected,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
