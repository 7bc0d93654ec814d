import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, type TLSSocket } from "node:tls";
import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { BusServerInfo } from "./replica-servers.ts";

const defaultPort = 4222;
const timeoutMs = 3_000;
/** How long a server that was identified may take to finish a handshake that only spares its log. */
const leaveMs = 2_000;

/** The address of a bus server. */
export interface ServerPlace {
  host: string;
  port: number;
}

/** The certificate that a server presents. */
export interface ServerCertificate {
  /** Milliseconds since the Unix epoch. */
  notAfter: number;
  /** Why the certificate is not valid for this server; absent when it is valid. */
  problem?: string;
}

export interface ProbeOptions {
  /** For a server that verifies its clients. */
  client?: { cert: string; key: string } | undefined;
  clock: Clock;
}

/** Reads host and port of a `tls://` URL. */
export function placeOf(url: string): ServerPlace {
  const { hostname, port } = new URL(url.replace(/^tls:/, "https:"));
  // The URL class omits the default port of the substituted scheme.
  const given = /:(\d+)\/?$/.exec(url)?.[1] ?? port;
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: given === "" ? defaultPort : Number(given),
  };
}

/** @returns the addresses of the host @throws SvcError `unavailable` when the name is unknown */
export async function resolveHost({ host }: ServerPlace): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (cause) {
    throw new SvcError("unavailable", `the name ${host} has no address: ${describeError(cause)}`);
  }
}

/**
 * Opens a connection and reads the first message of a nats-server (NATS document "Client protocol", INFO).
 *
 * @returns the version of the server @throws SvcError `unavailable` when nothing answers, or the answer is
 * not from a nats-server
 */
export async function greetServer(place: ServerPlace, options: ProbeOptions): Promise<string> {
  return (await identifyServer(place, options)).version;
}

/** The same, with the name of the server, which is unique in a cluster. */
export async function identifyServer(place: ServerPlace, options: ProbeOptions): Promise<BusServerInfo> {
  return within(options.clock, place, async (closing) => {
    const { socket, wantsTls, name, version } = await greet(place, closing);
    if (wantsTls) {
      const finished = secure(socket, place, options, closing).then(leave);
      await inAnyCase(options.clock, finished);
    }
    return { name, version };
  });
}

/**
 * Reads the certificate of a server, even when it is not valid: nothing is sent to the server.
 *
 * @param ca PEM; absent means the system trust store
 * @throws SvcError `unavailable` when the server does not present one
 */
export async function inspectCertificate(
  place: ServerPlace,
  options: ProbeOptions & { ca?: string | undefined },
): Promise<ServerCertificate> {
  return within(options.clock, place, async (closing) => {
    const { socket } = await greet(place, closing);
    const secured = await secure(socket, place, options, closing);
    const certificate = secured.getPeerCertificate();
    await inAnyCase(options.clock, leave(secured));
    const problem =
      secured.authorizationError === null || secured.authorizationError === undefined
        ? checkServerIdentity(place.host, certificate)?.message
        : describeError(secured.authorizationError);
    return {
      notAfter: Date.parse(certificate.valid_to),
      ...defined({ problem }),
    };
  });
}

/** Closes what was opened at the end, also when nobody ever answers. */
type Closing = (close: () => void) => void;

type Greeting = BusServerInfo & { socket: Socket; wantsTls: boolean };

async function greet({ host, port }: ServerPlace, closing: Closing): Promise<Greeting> {
  const { promise, resolve, reject } = Promise.withResolvers<Greeting>();
  const socket = connect({ host, port });
  closing(() => socket.destroy());
  let text = "";
  const onData = (chunk: Buffer) => {
    text += chunk.toString("utf8");
    if (!text.includes("\r\n") && text.length < 65_536) return;
    socket.off("data", onData);
    const version = /^INFO .*"version":"([^"]{1,40})"/.exec(text)?.[1];
    const name = /"server_name":"([^"]{1,200})"/.exec(text)?.[1] ?? `${host}:${port}`;
    const wantsTls = text.includes('"tls_required":true');
    if (version !== undefined) return resolve({ socket, wantsTls, name, version });
    reject(new SvcError("unavailable", `the service at ${host}:${port} is not a nats-server`));
  };
  socket.on("data", onData);
  socket.once("error", reject);
  socket.once("close", () => reject(new SvcError("unavailable", "the connection was closed at once")));
  return promise.catch((thrown) => {
    socket.destroy();
    if (thrown instanceof SvcError) throw thrown;
    const isRefused = thrown instanceof Error && "code" in thrown && thrown.code === "ECONNREFUSED";
    const reason = isRefused ? "connection refused" : describeError(thrown);
    throw new SvcError("unavailable", `no connection to ${host}:${port}: ${reason}`);
  });
}

async function secure(
  socket: Socket,
  { host }: ServerPlace,
  { ca, client }: Omit<Parameters<typeof inspectCertificate>[1], "clock">,
  closing: Closing,
): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const secured = connectTls({
    socket,
    // The connection is not trusted: this must describe certificates that are not valid too.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...defined({ ca }),
    ...(client ?? {}),
  });
  closing(() => secured.destroy());
  secured.once("secureConnect", () => resolve(secured));
  secured.once("error", (cause) =>
    reject(new SvcError("unavailable", `no TLS with ${host}: ${describeError(cause)}`)),
  );
  return promise;
}

/**
 * Ends a connection whose handshake is finished here, and waits for the server to do the same. It may still read the
 * last message of the handshake: without it, it logs an error.
 */
async function leave(secured: TLSSocket): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  secured.once("close", () => resolve());
  secured.resume();
  secured.end();
  await closed;
}

/** Waits for what may fail, or never end: the answer is known already. */
async function inAnyCase(clock: Clock, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work.catch(() => {}), sleep(clock, leaveMs, done.signal)]);
  done.abort();
}

/** Runs a probe with a timeout, and closes what it opened. */
async function within<T>(
  clock: Clock,
  { host, port }: ServerPlace,
  check: (closing: Closing) => Promise<T>,
): Promise<T> {
  const opened: (() => void)[] = [];
  const done = new AbortController();
  try {
    return await Promise.race([
      check((close) => opened.push(close)),
      sleep(clock, timeoutMs, done.signal).then(() => {
        throw new SvcError("unavailable", `no answer from ${host}:${port} within ${timeoutMs / 1000} s`);
      }),
    ]);
  } finally {
    done.abort();
    for (const close of opened.reverse()) close();
  }
}
