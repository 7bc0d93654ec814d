import type { Socket } from "bun";

/** A message as it came. */
export type OnMessage = (subject: string, reply: string, data: Uint8Array) => void;

export interface WireOptions {
  host: string;
  port: number;
  caPem: string;
  /** Answers the server's nonce with the fields of CONNECT. */
  connect(nonce: string): Record<string, unknown>;
  /** What is sent right after CONNECT: subscriptions. */
  first: string;
  onMessage: OnMessage;
  /** The server has taken the credentials and the subscriptions. */
  onOpen(): void;
  onClose(reason: string): void;
}

/**
 * A connection to a NATS server (the client protocol, over TLS), with as little as a generator needs: no request,
 * no reconnect, no headers but those that are skipped.
 */
export interface Wire {
  /** Sends PUB messages, or anything else, as one write. */
  write(bytes: Uint8Array | string): void;
  close(): void;
}

const crlf = Buffer.from("\r\n");

/** The bytes of a PUB message. */
export function pub(subject: string, reply: string, data: Uint8Array): Buffer {
  const head = Buffer.from(`PUB ${subject} ${reply === "" ? "" : `${reply} `}${data.length}\r\n`);
  return Buffer.concat([head, data, crlf]);
}

/** Opens a connection; `onClose` is called once, also where it was never open. */
export function openWire(options: WireOptions): Wire {
  let socket: Socket | undefined;
  let closed = false;
  let rest: Buffer = Buffer.alloc(0);
  /** What the kernel did not take yet. */
  const waiting: Buffer[] = [];

  const close = (reason: string) => {
    if (closed) return;
    closed = true;
    socket?.end();
    options.onClose(reason);
  };
  const drain = () => {
    while (socket !== undefined && waiting.length > 0) {
      const [bytes = Buffer.alloc(0)] = waiting;
      const sent = socket.write(bytes);
      if (sent < 0) return close("the socket is closed");
      if (sent < bytes.length) {
        waiting[0] = bytes.subarray(sent);
        return;
      }
      waiting.shift();
    }
  };
  const write = (bytes: Uint8Array | string) => {
    if (closed) return;
    waiting.push(Buffer.from(bytes as string));
    if (waiting.length === 1) drain();
  };
  const secure = (plain: Socket, nonce: string) => {
    const [, tls] = plain.upgradeTLS({
      tls: { ca: options.caPem, serverName: "localhost" },
      data: undefined,
      socket: {
        handshake(_, success, error) {
          if (!success) return close(`TLS: ${error?.message ?? "failed"}`);
          write(`CONNECT ${JSON.stringify(options.connect(nonce))}\r\n${options.first}PING\r\n`);
        },
        data: (_, chunk) => read(chunk),
        drain,
        close: () => close("closed"),
        error: (_, error) => close(error.message),
      },
    });
    socket = tls;
  };
  const control = (line: string) => {
    if (line.startsWith("PING")) return write("PONG\r\n");
    if (line.startsWith("PONG")) return options.onOpen();
    if (line.startsWith("-ERR")) return close(line);
  };
  const read = (chunk: Buffer) => {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    for (;;) {
      const end = rest.indexOf(crlf);
      if (end < 0 || closed) return;
      const line = rest.toString("latin1", 0, end);
      const isMessage = line.startsWith("MSG ") || line.startsWith("HMSG ");
      if (!isMessage) {
        rest = rest.subarray(end + 2);
        control(line);
        continue;
      }
      const words = line.split(" ");
      const length = Number(words.at(-1));
      const from = end + 2;
      if (rest.length < from + length + 2) return;
      const headers = line.startsWith("H") ? Number(words.at(-2)) : 0;
      const reply = words.length > (headers > 0 ? 5 : 4) ? (words[3] ?? "") : "";
      const data = rest.subarray(from + headers, from + length);
      rest = rest.subarray(from + length + 2);
      options.onMessage(words[1] ?? "", reply, data);
    }
  };
  let info = "";
  Bun.connect({
    hostname: options.host,
    port: options.port,
    socket: {
      data(plain, chunk) {
        // Until TLS begins there is nothing but INFO. Then this handler still sees the encrypted bytes.
        if (info.includes("\r\n")) return;
        info += chunk.toString("latin1");
        if (!info.includes("\r\n")) return;
        const { nonce = "" } = JSON.parse(info.slice("INFO ".length, info.indexOf("\r\n"))) as {
          nonce?: string;
        };
        secure(plain, nonce);
      },
      close: () => close("closed"),
      error: (_, error) => close(error.message),
    },
  }).then(
    (plain) => {
      if (socket === undefined) socket = plain;
      if (closed) plain.end();
    },
    (error) => close(String(error)),
  );
  return { write, close: () => close("asked to") };
}
