import { readFileSync } from "node:fs";
import {
  type Authenticator,
  connect,
  ErrorCode,
  Events,
  headers,
  type MsgHdrs,
  type NatsConnection,
  NatsError,
} from "nats";
import { createBackoff } from "../../base/backoff.ts";
import { encodeBase64Url } from "../../base/base64.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt, describeError, SvcError } from "../../base/errors.ts";
import { isErrno, readTextFile } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { assertBusUrl } from "../../base/names/bus-url.ts";
import { subscribe } from "../../base/subscribe.ts";
import { type Span, traceparentOf } from "../../base/trace.ts";
import { keyPairFromSeed, parseCredentials } from "../../identity/mod.ts";
import { gatherWrites } from "./gather-writes.ts";
import { reachableUrl } from "./loopback.ts";

/** How the client authenticates: with a `.creds` text, or with an nkey seed. Both are secrets. */
export type BusIdentity = { credentials: string } | { seed: string };

/** In whose name a connection sends requests to the masters. */
export interface Requester {
  /** Name of the operator. */
  name: string;
  /** The public key that it signs with. */
  key: string;
  /** The command that connects, such as `enroll list`: a refusal names it. */
  command?: string;
  /** Encodes a request as the envelope that the operator signs for this subject. */
  sign(subject: string, request: Uint8Array): Uint8Array;
  /** Opens what is sealed to the key of the operator for this purpose. @throws SvcError `bad_request` */
  unseal(sealed: Uint8Array, purpose: Uint8Array): Uint8Array;
}

export interface BusOptions {
  /** `tls://host:port`, at least one; anything else is refused before a connection is opened. */
  urls: readonly string[];
  /** Name of the client, which the server shows. */
  name: string;
  identity: BusIdentity;
  /**
   * PEM of the CA that signed the server's certificate; absent means the host's trust store. A function is called at
   * each attempt, also when the client reconnects by itself: roots change while a connection lasts.
   */
  ca?: string | (() => string | undefined);
  /** PEM pair of an optional client certificate. */
  clientCertificate?: { cert: string; key: string };
  /** The name in the server's certificate, where the URL has its IP address only. */
  tlsName?: string;
  /** How long each server may take to accept the connection; 20 s when absent. */
  timeoutMs?: number;
  /**
   * Connects again without the random part of the pause. For masters: they are few, and peels ask them as soon
   * as they are connected themselves.
   */
  isAwaited?: boolean;
  /** Milliseconds until the next attempt to connect again, computed before each; 2 to 3 s when absent. */
  reconnectDelayMs?(): number;
  /** Signs the requests to masters. */
  requester?: Requester;
  /** What its requests to masters are part of. */
  span?: Span;
  /** Prefix of the reply subjects; a peel may use only its own. */
  inboxPrefix?: string;
  /**
   * Called each time a server refuses the credentials that it took before, with its words: they were revoked,
   * they expired, or the server does not know them any more. The client continues to try.
   */
  onRefused?(words: string): void;
  clock: Clock;
  log: Log;
}

/** Client settings of the specification, section "Peel configuration". */
export const busClientSettings = {
  pingIntervalMs: 20_000,
  maxPingsOut: 3,
  reconnectWaitMs: 2_000,
  reconnectBufferBytes: 8_388_608,
  drainTimeoutMs: 30_000,
} as const;

/** How many servers may refuse a new client before it gives up. */
const maxFirstAttempts = 8;

/** What comes with a request. The client chose it, and anyone between may have changed it. */
export interface Sent {
  /** Where the reply goes: an inbox. */
  reply: string;
  /** The trace that the request is part of. */
  traceparent?: string;
}

/** A live connection to the bus. */
export interface Bus {
  readonly nats: NatsConnection;
  readonly clock: Clock;
  readonly log: Log;
  /** Public key of the bus user: the server lets it alone publish below `svc.op.<key>`. */
  readonly user: string;
  /** Signs the requests to masters; absent where they are sent as they are. */
  readonly requester?: Requester;
  /** What the requests to masters are part of. */
  readonly span?: Span;
  /** Whether the connection is up now. */
  readonly connected: boolean;
  /**
   * Sends without waiting. While the bus is away messages are buffered, up to 8 MiB.
   *
   * @throws SvcError `unavailable` when that buffer is full
   */
  publish(subject: string, data: Uint8Array): void;
  /**
   * Answers requests on a subject; each request goes to one subscriber of the queue. `answer` gets the
   * subject of the request, and turns every failure into a reply. A request whose reply subject is not an
   * inbox is dropped: the reply is sent with the permissions of this client, not with those of the requester.
   *
   * @param answer the reply, or a promise of it; `undefined` when there is none
   * @param onDropped called with the subject of a dropped request, instead of a warning in the log
   */
  serve(
    subject: string,
    queue: string,
    answer: (
      data: Uint8Array,
      subject: string,
      sent: Sent,
    ) => Promise<Uint8Array | undefined> | Uint8Array | undefined,
    onDropped?: (subject: string) => void,
  ): { stop(): void };
  /** Number of reconnects. */
  readonly reconnects: number;
  /** Calls `run` after each reconnect; returns a function that stops it. */
  onReconnect(run: () => void): () => void;
  /** Resolves with the reason when the connection is closed permanently. */
  readonly closed: Promise<undefined | Error>;
  /** Finishes the work in progress for at most 30 s, then closes. */
  drain(): Promise<void>;
  /**
   * Sends what waits, for at most 30 s, then closes: for a client that waits for nothing more. It asks the server once,
   * where `drain` asks twice.
   */
  close(): Promise<void>;
}

/**
 * Opens one connection to the bus, always over verified TLS.
 *
 * @throws SvcError `unavailable` when no server could be reached, or the server refused the client
 */
export async function connectBus(options: BusOptions): Promise<Bus> {
  for (const url of options.urls) assertBusUrl("bus_url", url);
  const servers = await Promise.all(options.urls.map((url) => reachableUrl(url)));
  let nats: NatsConnection;
  const { user, authenticate } = authenticatorOf(options.identity);
  let attempts = 0;
  let connected = false;
  try {
    nats = await connect({
      servers,
      name: options.name,
      authenticator(nonce) {
        // Each server that refuses names the other servers of its cluster, and nats.js would try them in a
        // loop without a pause and without an end. Once it was connected, it pauses between attempts.
        if (!connected && ++attempts > maxFirstAttempts) {
          throw NatsError.errorForCode(ErrorCode.AuthorizationViolation);
        }
        return authenticate(nonce);
      },
      // Without a tls object nats.js talks plaintext to a server that does not announce TLS.
      tls: tlsOf({ ...options, ...nameFor(options.urls, servers) }),
      pingInterval: busClientSettings.pingIntervalMs,
      maxPingOut: busClientSettings.maxPingsOut,
      ...(options.isAwaited === true ? { reconnectJitterTLS: 0 } : {}),
      maxReconnectAttempts: -1,
      reconnectTimeWait: busClientSettings.reconnectWaitMs,
      ignoreAuthErrorAbort: true,
      // nats.js would record a stack trace for every request, even for those that succeed.
      noAsyncTraces: true,
      ...defined({
        timeout: options.timeoutMs,
        inboxPrefix: options.inboxPrefix,
        reconnectDelayHandler: options.reconnectDelayMs,
      }),
    });
  } catch (cause) {
    throw new SvcError(
      "unavailable",
      `cannot connect to the bus at ${options.urls.join(", ")}: ${busReason(cause)}`,
      {
        cause,
      },
    );
  }
  connected = true;
  gatherWrites(nats);
  return watchConnection(nats, user, options);
}

/** The certificate of a server on this host may have its name alone, and no address. */
function nameFor(urls: readonly string[], servers: readonly string[]): Pick<BusOptions, "tlsName"> {
  return urls.length === 1 && urls[0] !== servers[0] ? { tlsName: "localhost" } : {};
}

/** nats.js reads these for each attempt. */
function tlsOf({ ca, tlsName, clientCertificate }: BusOptions): Record<string, unknown> {
  const tls = { rejectUnauthorized: true, ...defined({ servername: tlsName }), ...(clientCertificate ?? {}) };
  if (typeof ca !== "function") return { ...tls, ...defined({ ca }) };
  return Object.defineProperty(tls, "ca", { get: ca, enumerable: true });
}

/** Tries to connect until it succeeds or the signal aborts, with a pause that doubles from 1 s to 30 s. */
export async function connectBusForever(options: BusOptions, signal: AbortSignal): Promise<Bus> {
  const backoff = createBackoff({ firstMs: 1_000, maxMs: 30_000 });
  for (;;) {
    signal.throwIfAborted();
    try {
      return await connectBus(options);
    } catch (cause) {
      const pauseMs = backoff.next();
      const next = isNameUnknown(cause) ? nameAdvice : undefined;
      const error = describeError(cause);
      options.log.warn("bus not reachable", { error, retry_in_ms: pauseMs, ...defined({ next }) });
      await sleep(options.clock, pauseMs, signal);
    }
  }
}

/**
 * Finds the CA that verifies the bus server: the explicit path, `BUS_CA_FILE`, `<auth_dir>/bus-ca.crt`
 * if present, else `undefined` for the host's trust store (specification, "ca.mode semantics").
 *
 * @returns PEM text
 * @throws SvcError `bad_request` when a named file cannot be read
 */
export function resolveBusCa(options: {
  explicit: string;
  env: Readonly<Record<string, string | undefined>>;
  authDir: string;
}): string | undefined {
  if (options.explicit !== "") return readTextFile(options.explicit, "bus_ca");
  if (options.env.BUS_CA_FILE) return readTextFile(options.env.BUS_CA_FILE, "BUS_CA_FILE");
  return attempt(() => readFileSync(`${options.authDir}/bus-ca.crt`, "utf8"));
}

/** Signs the challenge of the server; nats.js does this in JavaScript, which takes 70 times as long. */
function authenticatorOf(identity: BusIdentity): { user: string; authenticate: Authenticator } {
  const { key, jwt } =
    "credentials" in identity
      ? parseCredentials(identity.credentials)
      : { key: keyPairFromSeed("user", identity.seed), jwt: undefined };
  const nkey = key.publicKey;
  return {
    user: nkey,
    authenticate: (nonce) => ({
      nkey,
      sig: nonce === undefined ? "" : encodeBase64Url(key.sign(Buffer.from(nonce))),
      ...defined({ jwt }),
    }),
  };
}

/** What a connection went through. */
interface Life {
  connected: boolean;
  /** Whether the server refused this client since it was connected last. */
  refused: boolean;
  /** What waits in the client for the next connection. */
  bufferedBytes: number;
  reconnects: number;
  readonly onReconnect: Set<() => void>;
}

function watchConnection(nats: NatsConnection, user: string, options: BusOptions): Bus {
  const { clock, log, requester, span } = options;
  const life: Life = {
    ...{ connected: true, refused: false, bufferedBytes: 0, reconnects: 0 },
    onReconnect: new Set(),
  };
  void followStatus(nats, life, options);
  return {
    ...{ nats, clock, log, user },
    ...defined({ requester, span }),
    get reconnects() {
      return life.reconnects;
    },
    get connected() {
      return life.connected && !nats.isClosed();
    },
    publish(subject, data) {
      if (!life.connected) {
        if (life.bufferedBytes + data.length > busClientSettings.reconnectBufferBytes) {
          throw new SvcError("unavailable", "the bus is away and the reconnect buffer is full");
        }
        life.bufferedBytes += data.length;
      }
      nats.publish(subject, data);
    },
    onReconnect: (run) => subscribe(life.onReconnect, run),
    serve: serveOver(nats, log),
    closed: nats.closed().then((reason) => {
      life.connected = false;
      return reason ?? undefined;
    }),
    drain: () => closeAfter(nats, life, clock, () => nats.drain()),
    close: () => closeAfter(nats, life, clock, () => nats.flush()),
  };
}

/** Logs what happens to a connection, until it is closed. */
async function followStatus(nats: NatsConnection, life: Life, { log, onRefused }: BusOptions): Promise<void> {
  for await (const status of nats.status()) {
    switch (status.type) {
      case Events.Disconnect:
        life.connected = false;
        log.warn("bus disconnected", { server: status.data });
        break;
      case Events.Reconnect:
        life.connected = true;
        life.refused = false;
        life.bufferedBytes = 0;
        life.reconnects++;
        log.info("bus reconnected", { server: status.data });
        for (const run of life.onReconnect) run();
        break;
      case Events.Error: {
        // The client library does not keep what a server said about a permission.
        const words = status.permissionContext === undefined ? wordsOf(nats) : undefined;
        const isRefusal = isRefusalOf(String(status.data), words);
        // While a server refuses the client, each attempt has the same error. It is logged once.
        if (!isRefusal || !life.refused) {
          const permission = status.permissionContext?.subject;
          log.warn("bus error", { code: status.data, permission, ...defined({ message: words }) });
        }
        life.refused ||= isRefusal;
        if (isRefusal) onRefused?.(words ?? String(status.data));
        break;
      }
    }
  }
}

/** @param finish sends what is not sent yet */
async function closeAfter(
  nats: NatsConnection,
  life: Life,
  clock: Clock,
  finish: () => Promise<void>,
): Promise<void> {
  if (nats.isClosed()) return;
  const giveUp = new AbortController();
  // Without a connection nothing can be sent.
  if (life.connected) {
    await Promise.race([
      finish().catch(() => {}),
      sleep(clock, busClientSettings.drainTimeoutMs, giveUp.signal),
    ]).finally(() => giveUp.abort());
  }
  // When the connection breaks meanwhile, the client stops draining and tries to connect forever.
  await nats.close();
}

function serveOver(nats: NatsConnection, log: Log): Bus["serve"] {
  const warnOfReply = (subject: string) => log.warn(badReply, { subject });
  return (subject, queue, answer, onDropped = warnOfReply) => {
    const subscription = nats.subscribe(subject, {
      queue,
      callback: (error, message) => {
        if (error !== null) return log.error("subscription error", { subject, error });
        if (message.reply === undefined || !isInbox(message.reply)) return onDropped(message.subject);
        const sent = { reply: message.reply, ...defined({ traceparent: traceOf(message.headers) }) };
        const reply = answer(message.data, message.subject, sent);
        if (!(reply instanceof Promise)) {
          if (reply !== undefined) message.respond(reply);
          return;
        }
        reply.then(
          (bytes) => void (bytes === undefined || message.respond(bytes)),
          (cause) => log.error("a request got no answer", { subject, error: describeError(cause) }),
        );
      },
    });
    return { stop: () => subscription.unsubscribe() };
  };
}

const traceHeader = "traceparent";
const traceOf = (headers: MsgHdrs | undefined) => traceparentOf(headers?.get(traceHeader));

/** The headers of a message that is part of a trace. */
export function traceHeaders(traceparent: string | undefined): { headers?: MsgHdrs } {
  if (traceparent === undefined) return {};
  const made = headers();
  made.set(traceHeader, traceparent);
  return { headers: made };
}

/** What the server said last. The client library keeps it, and exposes its code alone. */
function wordsOf(nats: object): string | undefined {
  const protocol = "protocol" in nats ? nats.protocol : undefined;
  if (typeof protocol !== "object" || protocol === null || !("lastError" in protocol)) return undefined;
  return protocol.lastError instanceof Error ? protocol.lastError.message : undefined;
}

const refusals: ReadonlySet<string> = new Set([
  ErrorCode.AuthorizationViolation,
  ErrorCode.AuthenticationExpired,
  ErrorCode.AccountExpired,
]);

/** Whether an error of the server is about the credentials of the client. */
function isRefusalOf(code: string, words: string | undefined): boolean {
  return refusals.has(code) || (words !== undefined && /authentication revoked/i.test(words));
}

/** Whether `connectBus` failed because a server refused the credentials. */
export function isCredentialsRefused(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause instanceof Error && "code" in cause && isRefusalOf(String(cause.code), cause.message);
}

/** What to do where the host of a URL of the bus has no address. */
export const nameAdvice = "correct the host in the URL, or fix name resolution on this host";

/** Whether `connectBus` failed because the host of the URL has no address. */
export function isNameUnknown(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return isErrno(cause, "ENOTFOUND") || isErrno(cause, "EAI_AGAIN");
}

/** The log message for a request whose reply subject is not an inbox. */
export const badReply = "request dropped: its reply subject is not an inbox";

/** `_INBOX.` is the convention for inboxes; the server uses `_R_.` for replies into another account. */
export function isInbox(reply: string | undefined): boolean {
  return reply !== undefined && /^(_INBOX\.|_R_\.)/.test(reply);
}

const hints: Record<string, string> = {
  CONNECTION_REFUSED:
    "connection refused: start the bus there, or the svc-master that runs it (embedded_bus)",
  AUTHORIZATION_VIOLATION: "the server refused these credentials",
  SERVER_OPT_NA: "the server does not offer TLS",
  TIMEOUT: "no answer in time",
  CERT_NOT_YET_VALID:
    "its certificate is not valid yet: set the clock of this host (timedatectl set-ntp true), then that of the bus",
};

function busReason(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return hints[code] ?? describeError(thrown);
}
