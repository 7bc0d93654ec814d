import { connect, type TLSSocket } from "node:tls";

export interface Answer {
  status: number;
  body: string;
}

/** One keep-alive HTTP/1.1 connection: a minimal client, so that the server dominates the measurement. */
export interface Connection {
  /** Sends a request and reads its answer; one at a time. @throws Error when the connection breaks */
  request(method: string, path: string, headers?: Record<string, string>, body?: string): Promise<Answer>;
  close(): void;
}

export interface Target {
  port: number;
  /** PEM of the CA that verifies the server. */
  ca: string;
}

/** Opens a connection over TLS 1.3 from this source address, with a full handshake. */
export function openConnection(target: Target, from: string): Promise<Connection> {
  return new Promise((opened, refused) => {
    let received = "";
    let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;
    const socket: TLSSocket = connect(
      {
        host: "127.0.0.1",
        port: target.port,
        servername: "localhost",
        ca: target.ca,
        minVersion: "TLSv1.3",
        localAddress: from,
      } as Parameters<typeof connect>[0],
      () => opened({ request, close: () => socket.destroy() }),
    );
    const request: Connection["request"] = (method, path, headers = {}, body) => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      if (body !== undefined) {
        lines.push(`Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`);
      }
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(
          `${method} ${path} HTTP/1.1\r\nHost: localhost:${target.port}\r\n${lines.join("")}\r\n${body ?? ""}`,
        );
      });
    };
    const fail = (error: Error) => {
      refused(error);
      waiting?.reject(error);
      waiting = undefined;
    };
    socket.on("data", (bytes: Buffer) => {
      received += bytes.toString("latin1");
      const answer = parseAnswer(received);
      if (answer === undefined) return;
      received = "";
      waiting?.resolve(answer);
      waiting = undefined;
    });
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the server closed the connection")));
  });
}

/** The answer, once it is complete. */
function parseAnswer(text: string): Answer | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
  if (Number.isNaN(length)) throw new Error(`an answer without a length: ${head}`);
  if (text.length < end + 4 + length) return undefined;
  return { status: Number(head.slice(9, 12)), body: text.slice(end + 4, end + 4 + length) };
}
