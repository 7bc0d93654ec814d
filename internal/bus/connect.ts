import { readFileSync } from "node:fs";
import { type Authenticator, connect, ErrorCode, Events, type NatsConnection, NatsError } from "nats";
import { encodeBase64Url } from "../base/base64.ts";
import { assertBusUrl } from "../base/bus-url.ts";
import { type Clock, sleep } from "../base/clock.ts";
import { describeError, SvcError } from "../base/errors.ts";
import { readTextFile } from "../base/file.ts";
import type { Log } from "../base/log.ts";
import { keyPairFromSeed, parseCredentials } from "../identity/mod.ts";

/** How the client proves who it is: a `.creds` text, or a bare nkey seed. Both are secrets. */
export type BusIdentity = { credentials: string } | { seed: string };

export interface BusOptions {
  /** `tls://host:port`, at least one; anything else is refused before a connection is opened. */
  urls: readonly string[];
  /** Client name as the server shows it. */
  name: string;
  identity: BusIdentity;
  /** PEM of the CA that signed the server's certificate; absent means the host's trust store. */
  ca?: string;
  /** PEM pair of an optional client certificate. */
  clientCertificate?: { cert: string; key: string };
  /** Prefix of the reply subjects; a peel may only use its own. */
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

/** How many servers may refuse a new client before it believes them. */
const maxFirstAttempts = 8;

/** A live connection to the bus. */
export interface Bus {
  readonly nats: NatsConnection;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the connection is up at this moment. */
  readonly connected: boolean;
  /**
   * Sends without waiting. While the bus is away messages are kept, up to 8 MiB.
   *
   * @throws SvcError `unavailable` when that buffer is full
   */
  publish(subject: string, data: Uint8Array): void;
  /**
   * Answers requests on a subject; of all subscribers of the queue one takes each. `answer` turns every
   * failure into a reply of its own, and gets the subject the request came on. A request that wants its
   * answer anywhere but in an inbox is dropped: the answer is sent with our permissions, not the asker's.
   *
   * @param onDropped called with the subject of a dropped request, instead of a warning in the log
   */
  serve(
    subject: string,
    queue: string,
    answer: (data: Uint8Array, subject: string) => Promise<Uint8Array>,
    onDropped?: (subject: string) => void,
  ): { stop(): void };
  /** How often the connection came back. */
  readonly reconnects: number;
  /** Calls `run` after each reconnect; returns the way to stop it. */
  onReconnect(run: () => void): () => void;
  /** Resolves with the reason when the connection is closed for good. */
  readonly closed: Promise<undefined | Error>;
  /** Finishes what is under way, for at most 30 s, then closes. */
  drain(): Promise<void>;
}

/**
 * Opens one connection to the bus, always over verified TLS.
 *
 * @throws SvcError `unavailable` when no server could be reached or it refused the client
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
        // Each server of a cluster that refuses names the others, and nats.js would ask those in a
        // circle, without a pause and without end. Once connected it pauses between attempts.
        if (!connected && ++attempts > maxFirstAttempts) {
          throw NatsError.errorForCode(ErrorCode.AuthorizationViolation);
        }
        return authenticate(nonce);
      },
      // Without a tls object nats.js talks plaintext to a server that does not announce TLS.
      tls: {
        rejectUnauthorized: true,
        ...(options.ca === undefined ? {} : { ca: options.ca }),
        ...(options.clientCertificate ?? {}),
      } as Record<string, unknown>,
      pingInterval: busClientSettings.pingIntervalMs,
      maxPingOut: busClientSettings.maxPingsOut,
      maxReconnectAttempts: -1,
      reconnectTimeWait: busClientSettings.reconnectWaitMs,
      ignoreAuthErrorAbort: true,
      // nats.js would record a stack trace for every request, failing or not.
      noAsyncTraces: true,
      ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
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

/** Connects, however often it takes, with a pause that doubles from 1 s to 30 s; the signal ends it. */
export async function connectBusForever(options: BusOptions, signal: AbortSignal): Promise<Bus> {
  for (let pauseMs = 1_000; ; pauseMs = Math.min(pauseMs * 2, 30_000)) {
    signal.throwIfAborted();
    try {
      return await connectBus(options);
    } catch (cause) {
      options.log.warn("bus not reachable", { error: describeError(cause), retry_in_ms: pauseMs });
    }
    await sleep(options.clock, pauseMs, signal);
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

/** Answers the server's challenge; nats.js does so in JavaScript, which takes 70 times as long. */
function authenticatorOf(identity: BusIdentity): Authenticator {
  const { key, jwt } =
    "credentials" in identity
      ? parseCredentials(identity.credentials)
      : { key: keyPairFromSeed("user", identity.seed), jwt: undefined };
  const nkey = key.publicKey;
  return (nonce) => ({
    nkey,
    sig: nonce === undefined ? "" : encodeBase64Url(key.sign(Buffer.from(nonce))),
    ...(jwt === undefined ? {} : { jwt }),
  });
}

function watchConnection(nats: NatsConnection, { clock, log }: BusOptions): Bus {
  let connected = true;
  let bufferedBytes = 0;
  let reconnects = 0;
  const onReconnect = new Set<() => void>();
  const warnOfReply = (subject: string) => log.warn(badReply, { subject });
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
    serve(subject, queue, answer, onDropped = warnOfReply) {
      const subscription = nats.subscribe(subject, {
        queue,
        callback: (error, message) => {
          if (error !== null) return log.error("subscription error", { subject, error });
          if (!isInbox(message.reply)) {
            return onDropped(message.subject);
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
      // Without a connection nothing can be handed over.
      if (connected) {
        await Promise.race([
          nats.drain().catch(() => {}),
          sleep(clock, busClientSettings.drainTimeoutMs, giveUp.signal),
        ]).finally(() => giveUp.abort());
      }
      // When the connection breaks meanwhile the client ends draining, and goes on connecting for ever.
      await nats.close();
    },
  };
}

/** What is logged of a request that wants its answer elsewhere. */
export const badReply = "request dropped: its reply subject is no inbox";

/** Inboxes are ours by convention; `_R_.` is the server's own way back into another account. */
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
