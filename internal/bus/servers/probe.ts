import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, type TLSSocket } from "node:tls";
import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { BusServerInfo } from "./replica-servers.ts";

const defaultPort = 4222;
const timeoutMs = 3_000;

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
export async function greetServer(place: ServerPlace, clock: Clock): Promise<string> {
  return (await identifyServer(place, clock)).version;
}

/** The same, with the name of the server, which is unique in a cluster. */
export async function identifyServer(place: ServerPlace, clock: Clock): Promise<BusServerInfo> {
  return within(clock, place, async (closing) => {
    const { name, version } = await greet(place, closing);
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
  options: { ca?: string | undefined; client?: { cert: string; key: string } | undefined; clock: Clock },
): Promise<ServerCertificate> {
  return within(options.clock, place, async (closing) => {
    const { socket } = await greet(place, closing);
    const secured = await secure(socket, place, options, closing);
    const certificate = secured.getPeerCertificate();
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

type Greeting = BusServerInfo & { socket: Socket };

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
    if (version !== undefined) return resolve({ socket, name, version });
    reject(new SvcError("unavailable", `the service at ${host}:${port} is not a nats-server`));
  };
  socket.on("data", onData);
  socket.once("error", reject);
  socket.once("close", () => reject(new SvcError("unavailable", "the connection was closed at once")));
  return promise.catch((thrown) => {
    socket.destroy();
    if (thrown instanceof SvcError) throw thrown;
    throw new SvcError("unavailable", `no connection to ${host}:${port}: ${describeError(thrown)}`);
  });
}

async function secure(
  socket: Socket,
  { host }: ServerPlace,
  { ca, client }: { ca?: string | undefined; client?: { cert: string; key: string } | undefined },
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
