import type { Socket, TCPSocketListener } from "bun";
import type { Clock, Timer } from "../../base/clock.ts";

// One request and one answer for each connection. Anybody on this host may connect, so what a connection can hold is
// bounded from the moment it is accepted: the server of the runtime bounds neither their number nor their time.

/** With one more, the oldest is closed: a user who holds the others cannot keep a scraper or a watchdog away. */
const maxConnections = 64;
/** For the request, and again for the client to take the answer. */
const timeoutMs = 10_000;
const maxHeadBytes = 8 * 1024;

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

interface Connection {
  head: string;
  isComplete: boolean;
  /** What the system has not taken yet. */
  unsent: Uint8Array;
  timer: Timer;
}

export interface HttpOptions {
  host: string;
  port: number;
  clock: Clock;
  /** Answers a request. The path has no query. */
  answer(method: string, path: string): Promise<Response>;
}

/** Serves HTTP without TLS, one request for each connection. @throws the error of the system */
export function serveHttp({ host, port, clock, answer }: HttpOptions): TCPSocketListener<Connection> {
  const connections = new Set<Socket<Connection>>();
  const limitTime = (socket: Socket<Connection>) => {
    socket.data?.timer.cancel();
    return clock.after(timeoutMs, () => socket.terminate());
  };
  return Bun.listen<Connection>({
    hostname: host,
    port,
    // Two daemons would share one port, and a watchdog could get answers from another peel.
    exclusive: true,
    // A client may end its side once it has sent its request.
    allowHalfOpen: true,
    socket: {
      open(socket) {
        if (connections.size >= maxConnections) firstToClose(connections)?.terminate();
        socket.data = { head: "", isComplete: false, unsent: new Uint8Array(), timer: limitTime(socket) };
        connections.add(socket);
      },
      data(socket, bytes) {
        const { data } = socket;
        if (data.isComplete) return;
        data.head += Buffer.from(bytes).toString("latin1");
        if (!data.head.includes("\r\n\r\n")) {
          if (data.head.length > maxHeadBytes) socket.terminate();
          return;
        }
        data.isComplete = true;
        respond(data.head, answer).then(
          (response) => {
            if (!connections.has(socket)) return;
            data.timer = limitTime(socket);
            data.unsent = response;
            flush(socket);
          },
          () => socket.terminate(),
        );
      },
      drain: flush,
      end(socket) {
        if (!socket.data.isComplete) socket.terminate();
      },
      close(socket) {
        socket.data.timer.cancel();
        connections.delete(socket);
      },
      error: (socket) => void socket.terminate(),
    },
  });
}

/** The oldest that has not sent its request, or the oldest of all. */
function firstToClose(connections: ReadonlySet<Socket<Connection>>): Socket<Connection> | undefined {
  const [oldest] = connections;
  return [...connections].find(({ data }) => !data.isComplete) ?? oldest;
}

function flush(socket: Socket<Connection>): void {
  const { data } = socket;
  if (data.unsent.length === 0) return;
  const taken = socket.write(data.unsent);
  data.unsent = data.unsent.subarray(Math.max(0, taken));
  if (data.unsent.length === 0) socket.end();
}

async function respond(head: string, answer: HttpOptions["answer"]): Promise<Uint8Array> {
  const [, method = "", target = ""] = /^([A-Z]+) (\S+) HTTP\/1\.[01]\r\n/.exec(head) ?? [];
  const path = target.replace(/^https?:\/\/[^/]*/i, "").replace(/\?.*$/, "");
  const response =
    method === ""
      ? Response.json({ error: "malformed request" }, { status: 400 })
      : await answer(method, path);
  const body = new Uint8Array(await response.arrayBuffer());
  const headers = [...response.headers, ["Content-Length", body.length], ["Connection", "close"]];
  const lines = [
    `HTTP/1.1 ${response.status} ${reasons[response.status] ?? ""}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  const text = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return method === "HEAD" ? text : Buffer.concat([text, body]);
}
