import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Clock, Timer } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";

// The TLS server stands in front and hands each connection to the HTTP server. That way the
// certificate changes under a running listener: no second socket, so no connection is lost, and the
// address of the client stays known.

/** Time limits of a connection (specification, "HTTP server timeouts"), milliseconds. */
const limits = { handshakeMs: 10_000, readMs: 10_000, writeMs: 10_000, idleMs: 60_000 } as const;
const maxHeaderBytes = 16 * 1024;

/** PEM texts of a certificate chain and its key. */
export interface Certificate {
  cert: string;
  key: string;
}

export interface ServeOptions {
  /** Empty for every address of the host. */
  host: string;
  port: number;
  certificate: Certificate;
  /**
   * Answers one request. Its URL has an authority of ours, whatever the Host header says.
   *
   * @param ip address of the TCP peer
   * @param keepOpen lifts the limit on writing, for a stream
   */
  handle(request: Request, ip: string, keepOpen: () => void): Promise<Response>;
  /** Answers a request that is not even HTTP, before its connection is closed. */
  malformed(status: 400 | 431): Response;
  clock: Clock;
  log: Log;
}

export interface HttpsServer {
  /** The port it really listens on. */
  readonly port: number;
  /** Serves new connections with this certificate from now on; those that stand stay as they are. */
  setCertificate(certificate: Certificate): void;
  stop(): Promise<void>;
}

/** Listens for HTTPS with TLS 1.3 alone. */
export async function serveHttps(options: ServeOptions): Promise<HttpsServer> {
  const { clock, log } = options;
  const connections = new Map<Socket, Connection>();
  const http = createHttpServer({ maxHeaderSize: maxHeaderBytes }, (incoming, outgoing) => {
    const connection = connections.get(incoming.socket);
    if (connection === undefined) return void incoming.socket.destroy();
    answer(options, connection, incoming, outgoing).catch((cause) => {
      log.debug("response not sent", { error: describeError(cause) });
      incoming.socket.destroy();
    });
  });
  http.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable) return void socket.destroy();
    const response = options.malformed(error.code === "HPE_HEADER_OVERFLOW" ? 431 : 400);
    formatRaw(response).then(
      (text) => socket.end(text),
      () => socket.destroy(),
    );
  });

  const context = (certificate: Certificate) => ({ ...certificate, minVersion: "TLSv1.3" as const });
  const tls = createTlsServer(
    { ...context(options.certificate), handshakeTimeout: limits.handshakeMs },
    (socket: TLSSocket) => {
      const connection = createConnection(socket, clock);
      connections.set(socket, connection);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        connection.close();
        connections.delete(socket);
      });
      http.emit("connection", socket);
    },
  );
  tls.on("tlsClientError", (error: Error) => log.debug("handshake failed", { error: describeError(error) }));
  await listen(tls, options);
  tls.on("error", (error) => log.error("listener failed", { error: describeError(error) }));

  return {
    port: (tls.address() as AddressInfo).port,
    setCertificate: (certificate) => tls.setSecureContext(context(certificate)),
    async stop() {
      const closed = new Promise<void>((resolve) => tls.close(() => resolve()));
      for (const socket of connections.keys()) socket.destroy();
      await closed;
    },
  };
}

function listen(server: ReturnType<typeof createTlsServer>, { host, port }: ServeOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: host === "" ? "::" : host }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** The time limits of one connection: at each moment at most one of them runs. */
interface Connection {
  readonly ip: string;
  /** Gone once the client is; handlers listen to it. */
  readonly gone: AbortSignal;
  /** A request is complete: nothing is expected of the client while it is handled. */
  requestRead(): void;
  responseBegins(): void;
  /** The next request may come. */
  responseDone(): void;
  /** No limit on the response: it is a stream. */
  keepOpen(): void;
  close(): void;
}

function createConnection(socket: TLSSocket, clock: Clock): Connection {
  const gone = new AbortController();
  let timer: Timer | undefined;
  let idle = false;
  const allow = (ms: number | undefined) => {
    timer?.cancel();
    timer = ms === undefined ? undefined : clock.after(ms, () => socket.destroy());
  };
  // The first byte of a next request ends idleness; bytes that trickle after it earn no more time.
  socket.on("data", () => {
    if (idle) allow(limits.readMs);
    idle = false;
  });
  allow(limits.readMs);
  return {
    ip: normalizeIp(socket.remoteAddress ?? ""),
    gone: gone.signal,
    requestRead: () => allow(undefined),
    responseBegins: () => allow(limits.writeMs),
    responseDone() {
      idle = true;
      allow(limits.idleMs);
    },
    keepOpen: () => allow(undefined),
    close() {
      allow(undefined);
      gone.abort();
    },
  };
}

async function answer(
  options: ServeOptions,
  connection: Connection,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  let isStream = false;
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  incoming.on("end", connection.requestRead);
  const request = toRequest(incoming, gone.signal);
  const response = await options.handle(request, connection.ip, () => {
    isStream = true;
    connection.keepOpen();
  });
  // What is left of a body that nobody wants would be taken for the next request.
  const unread = request.body !== null && !incoming.complete;
  if (unread) outgoing.setHeader("Connection", "close");
  if (!isStream) connection.responseBegins();
  await sendResponse(response, outgoing);
  if (unread) incoming.socket.destroySoon();
  else connection.responseDone();
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (let at = 0; at + 1 < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? "", incoming.rawHeaders[at + 1] ?? "");
  }
  const method = incoming.method ?? "GET";
  const hasBody =
    method !== "GET" &&
    method !== "HEAD" &&
    (headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0);
  if (!hasBody) incoming.resume();
  return new Request(targetOf(incoming.url ?? "/"), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: bodyOf(incoming), duplex: "half" } : {}),
  });
}

/** The body as it arrives; a reader that stops early stops the connection from sending more. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.on("data", (chunk: Uint8Array) => {
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      });
      incoming.on("end", () => controller.close());
      incoming.on("error", (error) => controller.error(error));
    },
    pull: () => void incoming.resume(),
    cancel: () => void incoming.pause(),
  });
}

/** An authority of our own: what stands in the Host header or before the path decides nothing. */
function targetOf(target: string): string {
  const path = target.startsWith("/") ? target : (/^https?:\/\/[^/?#]*(\/.*)$/i.exec(target)?.[1] ?? "/");
  return `https://listener${path}`;
}

async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  for (const [name, value] of response.headers) outgoing.setHeader(name, value);
  outgoing.writeHead(response.status);
  if (response.body === null) return end(outgoing);
  if (response.headers.has("content-length")) {
    return end(outgoing, new Uint8Array(await response.arrayBuffer()));
  }
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
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${response.status} ${reason}\r\n${headers}Connection: close\r\n\r\n${body}`;
}

/** `::ffff:192.0.2.1` on a dual-stack socket is the IPv4 address it maps. */
function normalizeIp(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
