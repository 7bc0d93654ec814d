import { connect, type Socket } from "node:net";

const atOnce = 200;

/** Raw connections that send nothing, from many addresses of this host. */
export interface Strangers {
  /** How many were accepted and are still open. */
  open(): number;
  end(): void;
}

/**
 * Opens raw connections as fast as the system does, `perSource` from each address of 127.200.0.0/13,
 * beginning with the one of number `from`. Resolves when each
 * is open, closed or refused.
 */
export async function openStrangers(
  port: number,
  count: number,
  perSource: number,
  from = 0,
): Promise<Strangers> {
  const sockets = new Set<Socket>();
  const openOne = (at: number) => {
    const localAddress = addressOf(from + Math.floor(at / perSource));
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    sockets.add(socket);
    return new Promise<void>((resolve) => {
      socket.on("connect", resolve);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        resolve();
      });
    });
  };
  // More at once overflow the queue of the listener, and the system repeats them only after a second.
  for (let at = 0; at < count; at += atOnce) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - at) }, (_, n) => openOne(at + n)));
  }
  return {
    open: () => sockets.size,
    end() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function addressOf(source: number): string {
  const [low, high] = [source % 250, Math.floor(source / 250)];
  return `127.${200 + Math.floor(high / 250)}.${high % 250}.${1 + low}`;
}
