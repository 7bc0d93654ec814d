import { connect, createServer, type Socket } from "node:net";

/** A TCP port that leads to another one, until it is closed with everything that runs through it. */
export interface Relay extends AsyncDisposable {
  readonly port: number;
  /** Connections that run through it now. */
  readonly open: number;
  /** Resolves with the next connection. */
  connected(): Promise<void>;
  /** Ends what runs through it, and lets nothing through until it is mended. It keeps its port. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/**
 * @param from the address of this machine that its connections come from
 * @param at where it listens, and where the target is: port 0 is any free one
 */
export async function startRelay(
  targetPort: number,
  from = "127.0.0.1",
  at: { host: string; port: number } = { host: "127.0.0.1", port: 0 },
): Promise<Relay> {
  const sockets = new Set<Socket>();
  let waiting: (() => void)[] = [];
  let open = 0;
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const target = connect({ port: targetPort, host: at.host, localAddress: from });
    open++;
    client.on("close", () => open--);
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
    for (const report of waiting) report();
    waiting = [];
  });
  await new Promise<void>((resolve) => server.listen(at.port, at.host, resolve));
  const address = server.address();
  const port = address === null || typeof address === "string" ? 0 : address.port;
  let closed = false;
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const close = async () => {
    if (closed) return;
    closed = true;
    const ended = new Promise((resolve) => server.close(resolve));
    destroyAll();
    await ended;
  };
  return {
    port,
    get open() {
      return open;
    },
    connected: () => new Promise<void>((resolve) => waiting.push(resolve)),
    cut() {
      isCut = true;
      destroyAll();
    },
    mend() {
      isCut = false;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
