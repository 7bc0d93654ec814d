import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Clock, Timer } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  type Certificate,
  type ConnectionNetwork,
  type FrontReason,
  openFront,
  type SecureConnection,
  type TableCounts,
  type TableLimits,
  type TlsStream,
} from "../sockets/mod.ts";

/** Time limits of a connection (specification, "HTTP server timeouts"), milliseconds. */
const limits = { readMs: 10_000, writeMs: 10_000, idleMs: 60_000 } as const;
const maxHeaderBytes = 16 * 1024;
/** How long a stopping server waits for clients to take what was written to them. */
const lastWritesMs = 250;

/** One request as it arrived. */
export interface Incoming {
  method: string;
  /** Path and query, only from the request line: the Host header is ignored. */
  target: string;
  headers: Pick<Headers, "get">;
  /** Address of the TCP peer. */
  ip: string;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  /**
   * Reads the body, at most up to the limit.
   *
   * @param readMs how long it may take, where that is longer than usual
   * @throws SvcError `too_large`, or `bad_request` when the client left before its end
   */
  body(maxBytes: number, readMs?: number): Promise<Uint8Array>;
  /** Removes the time limit of the answer, for a stream. */
  keepOpen(): void;
  /** The request has a valid token, session or key. */
  prove(): void;
}

export interface ServeOptions {
  /** Empty for every address of the host. */
  host: string;
  port: number;
  certificate: Certificate;
  /** Answers one request. */
  handle(incoming: Incoming): Promise<Response>;
  /** Answers a request from this address that is not HTTP, before its connection is closed. */
  malformed(status: 400 | 431, ip: string): Response;
  networks: readonly ConnectionNetwork[];
  limits: TableLimits;
  /** The listener closed a connection of this address, for this reason. */
  onClosed(reason: FrontReason, ip: string): void;
  clock: Clock;
  log: Log;
}

export interface HttpsServer {
  /** The port it really listens on. */
  readonly port: number;
  /** Whether it takes new connections. */
  readonly listening: boolean;
  /** How many connections it has. */
  readonly connections: TableCounts;
  /** Serves new connections with this certificate; existing ones are not affected. */
  setCertificate(certificate: Certificate): void;
  stop(): Promise<void>;
}

/** Listens for HTTPS with TLS 1.3 only. */
export async function serveHttps(options: ServeOptions): Promise<HttpsServer> {
  const { clock, log } = options;
  const connections = new Map<unknown, Connection>();
  const http = createHttpServer({ maxHeaderSize: maxHeaderBytes }, (incoming, outgoing) => {
    const connection = connections.get(incoming.socket);
    if (connection === undefined) return void incoming.socket.destroy();
    answer(options, connection, incoming, outgoing).catch((cause) => {
      log.debug("response not sent", { error: describeError(cause) });
      incoming.socket.destroy();
    });
  });
  http.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable) return void socket.destroy();
    const ip = connections.get(socket)?.ip ?? "";
    const response = options.malformed(error.code === "HPE_HEADER_OVERFLOW" ? 431 : 400, ip);
    formatRaw(response).then(
      (text) => socket.end(text),
      () => socket.destroy(),
    );
  });
  const front = openFront({
    ...options,
    onSecure(secure) {
      const { stream } = secure;
      const connection = createConnection(secure, clock);
      connections.set(stream, connection);
      stream.on("close", () => {
        connection.close();
        connections.delete(stream);
      });
      http.emit("connection", stream);
    },
  });
  let listening = true;
  return {
    port: front.port,
    get listening() {
      return listening;
    },
    get connections() {
      return front.counts;
    },
    setCertificate: front.setCertificate,
    async stop() {
      listening = false;
      front.stopListening();
      // Streams that were ended just before write their end, and it reaches their clients.
      await new Promise<void>((resolve) => setImmediate(resolve));
      for (const { stream } of connections.values()) stream.end();
      await front.ended(lastWritesMs);
    },
  };
}

/** The time limits of one connection: at each moment at most one of them runs. */
interface Connection {
  readonly ip: string;
  readonly stream: TlsStream;
  prove(): void;
  /** A body may take longer than usual. */
  bodyBegins(readMs: number): void;
  /** A request is complete: nothing is expected of the client while it is handled. */
  requestRead(): void;
  responseBegins(): void;
  /** The next request may come. */
  responseDone(): void;
  /** No limit on the response: it is a stream. */
  keepOpen(): void;
  close(): void;
}

function createConnection({ stream, ip, prove }: SecureConnection, clock: Clock): Connection {
  let timer: Timer | undefined;
  let idle = false;
  const allow = (ms: number | undefined) => {
    timer?.cancel();
    timer = ms === undefined ? undefined : clock.after(ms, () => stream.destroy());
  };
  // The first byte of the next request ends the idle time; later bytes do not extend the limit.
  stream.on("data", () => {
    if (idle) allow(limits.readMs);
    idle = false;
  });
  allow(limits.readMs);
  return {
    ...{ ip, stream, prove },
    bodyBegins: allow,
    requestRead: () => allow(undefined),
    responseBegins: () => allow(limits.writeMs),
    responseDone() {
      idle = true;
      allow(limits.idleMs);
    },
    keepOpen: () => allow(undefined),
    close: () => allow(undefined),
  };
}

async function answer(
  options: ServeOptions,
  connection: Connection,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  if (!isUnambiguous(incoming)) {
    outgoing.setHeader("Connection", "close");
    await sendResponse(options.malformed(400, connection.ip), outgoing);
    return incoming.socket.destroySoon();
  }
  let isStream = false;
  // The end of a request without a body is not reported before someone reads it.
  if (hasBody(incoming)) incoming.on("end", connection.requestRead);
  else connection.requestRead();
  const response = await options.handle({
    method: incoming.method ?? "",
    target: targetOf(incoming.url ?? "/"),
    headers: headersOf(incoming),
    ip: connection.ip,
    // Few handlers use it.
    get signal() {
      const gone = new AbortController();
      if (outgoing.destroyed) gone.abort();
      else outgoing.on("close", () => gone.abort());
      return gone.signal;
    },
    body(maxBytes, readMs) {
      if (readMs !== undefined && !incoming.complete) connection.bodyBegins(readMs);
      return readBody(incoming, maxBytes);
    },
    keepOpen() {
      isStream = true;
      connection.keepOpen();
    },
    prove: connection.prove,
  });
  // No client that must come back later holds a place meanwhile, and nobody waits for the rest of an unwanted body.
  const isLast = response.status === 429 || !incoming.complete;
  if (isLast) outgoing.setHeader("Connection", "close");
  if (!isStream) connection.responseBegins();
  await sendResponse(response, outgoing);
  if (isLast) incoming.socket.destroySoon();
  else connection.responseDone();
}

/**
 * RFC 9112, section 3.2: a request of HTTP/1.1 without Host, or with more than one, is answered with 400. So is one with
 * two Authorization headers: a proxy before this server may judge the other one.
 */
function isUnambiguous({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  const count = (wanted: string) =>
    rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === wanted).length;
  const hosts = count("host");
  return (httpVersion === "1.1" ? hosts === 1 : hosts <= 1) && count("authorization") <= 1;
}

/** RFC 9112, section 6. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

function headersOf({ headers }: IncomingMessage): Incoming["headers"] {
  return {
    get(name) {
      const value = headers[name.toLowerCase()];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
  };
}

function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new SvcError("too_large", `the body may have at most ${maxBytes} bytes`);
  return new Promise((resolve, reject) => {
    if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) return reject(tooLarge());
    const chunks: Uint8Array[] = [];
    let length = 0;
    incoming.on("data", (chunk: Uint8Array) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
      } else {
        incoming.pause();
        reject(tooLarge());
      }
    });
    incoming.on("end", () => resolve(Buffer.concat(chunks)));
    const cut = () => reject(new SvcError("bad_request", "the body ended before it was complete"));
    incoming.on("error", cut);
    incoming.on("close", cut);
  });
}

/** The path of a request line, which may hold a whole URL (RFC 9112 section 3.2.2). */
function targetOf(target: string): string {
  return target.startsWith("/") ? target : (/^https?:\/\/[^/?#]*(\/.*)$/i.exec(target)?.[1] ?? "/");
}

async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) headers[spelled(name)] = value;
  if (response.body === null || response.headers.has("content-length")) {
    const body = response.body === null ? undefined : new Uint8Array(await response.arrayBuffer());
    const { socket } = outgoing;
    // Head and body are otherwise written one after the other, each as a TLS record of its own.
    socket?.cork();
    outgoing.writeHead(response.status, headers);
    const ended = end(outgoing, body);
    socket?.uncork();
    return ended;
  }
  outgoing.writeHead(response.status, headers);
  // A client of events learns at once that the stream is open; the first of them may come much later.
  outgoing.flushHeaders();
  const reader = response.body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  outgoing.on("close", stop);
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.destroyed) break;
    if (!outgoing.write(value)) await drained(outgoing);
  }
  outgoing.off("close", stop);
  return end(outgoing);
}

// Every response has most of these; computing a spelling for each response costs more than the rest of writing the head.
const spellings: ReadonlyMap<string, string> = new Map(
  [
    "Allow",
    "Cache-Control",
    "Connection",
    "Content-Length",
    "Content-Security-Policy",
    "Content-Type",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Resource-Policy",
    "ETag",
    "Link",
    "Referrer-Policy",
    "Retry-After",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-Request-ID",
  ].map((name) => [name.toLowerCase(), name]),
);

/** A header name in its usual spelling; `Headers` keeps only lowercase letters. */
function spelled(name: string): string {
  return spellings.get(name) ?? name.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      outgoing.off("drain", go);
      outgoing.off("close", go);
      resolve();
    };
    outgoing.on("drain", go);
    outgoing.on("close", go);
  });
}

function end(outgoing: ServerResponse, rest?: Uint8Array): Promise<void> {
  if (outgoing.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    outgoing.once("close", resolve);
    outgoing.end(rest, () => resolve());
  });
}

async function formatRaw(response: Response): Promise<string> {
  const body = await response.text();
  const reason = response.status === 431 ? "Request Header Fields Too Large" : "Bad Request";
  const headers = [...response.headers].map(([name, value]) => `${spelled(name)}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${response.status} ${reason}\r\n${headers}Connection: close\r\n\r\n${body}`;
}
