import { readFileSync } from "node:fs";
import { type Authenticator, connect, ErrorCode, Events, type NatsConnection, NatsError } from "nats";
import { createBackoff } from "../base/backoff.ts";
import { encodeBase64Url } from "../base/base64.ts";
import { assertBusUrl } from "../base/bus-url.ts";
import { type Clock, sleep } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { describeError, SvcError } from "../base/errors.ts";
import { readTextFile } from "../base/file.ts";
import type { Log } from "../base/log.ts";
import { keyPairFromSeed, parseCredentials } from "../identity/mod.ts";

/** How the client authenticates: with a `.creds` text, or with an nkey seed. Both are secrets. */
export type BusIdentity = { credentials: string } | { seed: string };

export interface BusOptions {
  /** `tls://host:port`, at least one; anything else is refused before a connection is opened. */
  urls: readonly string[];
  /** Name of the client, which the server shows. */
  name: string;
  identity: BusIdentity;
  /** PEM of the CA that signed the server's certificate; absent means the host's trust store. */
  ca?: string;
  /** PEM pair of an optional client certificate. */
  clientCertificate?: { cert: string; key: string };
  /** Prefix of the reply subjects; a peel may use only its own. */
  inboxPrefix?: string;
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

/** A live connection to the bus. */
export interface Bus {
  readonly nats: NatsConnection;
  readonly clock: Clock;
  readonly log: Log;
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
   */
  serve(
    subject: string,
    queue: string,
    answer: (data: Uint8Array, subject: string) => Promise<Uint8Array>,
  ): { stop(): void };
  /** Number of reconnects. */
  readonly reconnects: number;
  /** Calls `run` after each reconnect; returns a function that stops it. */
  onReconnect(run: () => void): () => void;
  /** Resolves with the reason when the connection is closed permanently. */
  readonly closed: Promise<undefined | Error>;
  /** Finishes the work in progress for at most 30 s, then closes. */
  drain(): Promise<void>;
}

/**
 * Opens one connection to the bus, always over verified TLS.
 *
 * @throws SvcError `unavailable` when no server could be reached, or the server refused the client
 */
export async function connectBus(options: BusOptions): Promise<Bus> {
  for (const url of options.urls) assertBusUrl("bus_url", url);
  let nats: NatsConnection;
  const authenticate = authenticatorOf(options.identity);
  let attempts = 0;
  let connected = false;
  try {
    nats = await connect({
      servers: [...options.urls],
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
      tls: {
        rejectUnauthorized: true,
        ...defined({ ca: options.ca }),
        ...(options.clientCertificate ?? {}),
      } as Record<string, unknown>,
      pingInterval: busClientSettings.pingIntervalMs,
      maxPingOut: busClientSettings.maxPingsOut,
      maxReconnectAttempts: -1,
      reconnectTimeWait: busClientSettings.reconnectWaitMs,
      ignoreAuthErrorAbort: true,
      // nats.js would record a stack trace for every request, even for those that succeed.
      noAsyncTraces: true,
      ...defined({ inboxPrefix: options.inboxPrefix }),
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
  return watchConnection(nats, options);
}

/** Tries to connect until it succeeds or the signal aborts, with a pause that doubles from 1 s to 30 s. */
export async function connectBusForever(options: BusOptions, signal: AbortSignal): Promise<Bus> {
  const backoff = createBackoff({ firstMs: 1_000, longestMs: 30_000 });
  for (;;) {
    signal.throwIfAborted();
    try {
      return await connectBus(options);
    } catch (cause) {
      const pauseMs = backoff.next();
      options.log.warn("bus not reachable", { error: describeError(cause), retry_in_ms: pauseMs });
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
  try {
    return readFileSync(`${options.authDir}/bus-ca.crt`, "utf8");
  } catch {
    return undefined;
  }
}

/** Signs the challenge of the server; nats.js does this in JavaScript, which takes 70 times as long. */
function authenticatorOf(identity: BusIdentity): Authenticator {
  const { key, jwt } =
    "credentials" in identity
      ? parseCredentials(identity.credentials)
      : { key: keyPairFromSeed("user", identity.seed), jwt: undefined };
  const nkey = key.publicKey;
  return (nonce) => ({
    nkey,
    sig: nonce === undefined ? "" : encodeBase64Url(key.sign(Buffer.from(nonce))),
    ...defined({ jwt }),
  });
}

function watchConnection(nats: NatsConnection, { clock, log }: BusOptions): Bus {
  let connected = true;
  let bufferedBytes = 0;
  let reconnects = 0;
  const onReconnect = new Set<() => void>();
  void (async () => {
    for await (const status of nats.status()) {
      switch (status.type) {
        case Events.Disconnect:
          connected = false;
          log.warn("bus disconnected", { server: status.data });
          break;
        case Events.Reconnect:
          connected = true;
          bufferedBytes = 0;
          reconnects++;
          log.info("bus reconnected", { server: status.data });
          for (const run of onReconnect) run();
          break;
        case Events.Error:
          log.warn("bus error", { code: status.data, permission: status.permissionContext?.subject });
          break;
      }
    }
  })();
  return {
    nats,
    clock,
    log,
    get reconnects() {
      return reconnects;
    },
    get connected() {
      return connected && !nats.isClosed();
    },
    publish(subject, data) {
      if (!connected) {
        if (bufferedBytes + data.length > busClientSettings.reconnectBufferBytes) {
          throw new SvcError("unavailable", "the bus is away and the reconnect buffer is full");
        }
        bufferedBytes += data.length;
      }
      nats.publish(subject, data);
    },
    onReconnect(run) {
      onReconnect.add(run);
      return () => onReconnect.delete(run);
    },
    serve(subject, queue, answer) {
      const subscription = nats.subscribe(subject, {
        queue,
        callback: (error, message) => {
          if (error !== null) return log.error("subscription error", { subject, error });
          if (!isInbox(message.reply)) {
            return log.warn("request dropped: its reply subject is not an inbox", {
              subject: message.subject,
            });
          }
          answer(message.data, message.subject).then(
            (reply) => message.respond(reply),
            (cause) => log.error("a request got no answer", { subject, error: describeError(cause) }),
          );
        },
      });
      return { stop: () => subscription.unsubscribe() };
    },
    closed: nats.closed().then((reason) => {
      connected = false;
      return reason ?? undefined;
    }),
    async drain() {
      if (nats.isClosed()) return;
      const giveUp = new AbortController();
      // Without a connection nothing can be sent.
      if (connected) {
        await Promise.race([
          nats.drain().catch(() => {}),
          sleep(clock, busClientSettings.drainTimeoutMs, giveUp.signal),
        ]).finally(() => giveUp.abort());
      }
      // When the connection breaks meanwhile, the client stops draining and tries to connect forever.
      await nats.close();
    },
  };
}

/** `_INBOX.` is the convention for inboxes; the server uses `_R_.` for replies into another account. */
function isInbox(reply: string | undefined): boolean {
  return reply !== undefined && /^(_INBOX\.|_R_\.)/.test(reply);
}

const hints: Record<string, string> = {
  CONNECTION_REFUSED: "connection refused; is the bus running there?",
  AUTHORIZATION_VIOLATION: "the server refused these credentials",
  SERVER_OPT_NA: "the server does not offer TLS",
  TIMEOUT: "no answer in time",
};

function busReason(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return hints[code] ?? describeError(thrown);
}
