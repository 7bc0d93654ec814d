import { type Clock, rfc3339, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { version } from "../../base/version.ts";
import { assertStored } from "../../bus/jetstream/mod.ts";
import { keySubject } from "../../bus/subjects/subjects.ts";
import { encodeHeartbeat } from "../../wire/heartbeat.ts";
import type { Instance } from "../../wire/instance.ts";
import type { Connection } from "./connection.ts";

const intervalMs = 10_000;
const timeoutMs = 5_000;
/** A peel that stops waits no longer for the bus. */
const goodbyeMs = 1_000;

export interface Heartbeat {
  /** Stores one heartbeat now. @throws when the bus did not store it */
  store(): Promise<void>;
  /**
   * Sends no more heartbeats, and says goodbye, so that nobody waits for this peel. Where the bus does not answer at
   * once, it is silent as one whose power failed. Never rejects.
   */
  stop(): Promise<void>;
}

/**
 * Sends a heartbeat to the masters every 10 s, and right after each connect. With `sent_at` and the time at which
 * the bus stored it, others see whether the clock of this host is right.
 */
export function startHeartbeat(options: {
  connection: Connection;
  peelId: string;
  /** This process, and the next number of its messages; absent in tests of other parts. */
  instance?(): Instance;
  /** Commands refused since the start, by reason. */
  refused: Readonly<Record<string, number>>;
  /** The command keys that it accepts. */
  commandKeys: { readonly current: readonly string[] };
  /** Whether masters named a command key that it does not accept. */
  lacksKey(): boolean;
  /** The administrators that it knows; absent where it obeys masters. */
  insistsOn?: { digest: string | undefined };
  /** Whether another program listens on `health_addr`. */
  isHealthOff?(): boolean;
  /** Whether its data directory has no room. */
  isDiskFull?(): boolean;
  /** The site whose commands it receives. */
  site?: { readonly current: string | undefined };
  clock: Clock;
  log: Log;
}): Heartbeat {
  const { connection, peelId, refused, commandKeys, lacksKey, clock, log } = options;
  const startedAt = rfc3339(clock.now());
  /** The last heartbeat, as the bus confirmed it. */
  let storedAs: number | undefined;
  const send = async (leavingAfter: number | undefined, withinMs: number) => {
    const counted = Object.entries(refused).filter(([, count]) => count > 0);
    // Only while a key is replaced, when masters wait for it: a master that started since has not seen the hello. And
    // while a key is missing, so that operators see it.
    const areKeysReported = commandKeys.current.length > 1 || lacksKey();
    const value = encodeHeartbeat({
      ...{ peel_id: peelId, version, started_at: startedAt, sent_at: rfc3339(clock.now()) },
      ...troublesOf(options),
      ...defined({
        commands_refused: counted.length === 0 ? undefined : Object.fromEntries(counted),
        knows_command_keys: areKeysReported ? [...commandKeys.current] : undefined,
        // Empty where it knows none.
        administrators: options.insistsOn && (options.insistsOn.digest ?? ""),
        ...{ site: options.site?.current, instance: options.instance?.(), leaving_after: leavingAfter },
      }),
    });
    return connection.request(keySubject("peel-heartbeat", peelId), value, withinMs);
  };
  let underWay: Promise<unknown> = Promise.resolve();
  const storeOne = async () => {
    const answer = await send(undefined, timeoutMs);
    // Another heartbeat may have overtaken it.
    storedAs = Math.max(storedAs ?? 0, assertStored(answer));
  };
  const store = () => {
    const stored = storeOne();
    underWay = stored.catch(() => {});
    return stored;
  };
  const beat = () => {
    if (!connection.connected) return;
    store().catch((thrown) => log.warn("heartbeat not stored", { reason: describeError(thrown) }));
  };
  const timer = clock.every(intervalMs, beat);
  const unsubscribe = connection.onConnect(beat);
  return {
    store,
    async stop() {
      timer.cancel();
      unsubscribe();
      const late = new AbortController();
      await Promise.race([underWay, sleep(clock, goodbyeMs, late.signal).catch(() => {})]);
      late.abort();
      if (storedAs === undefined || !connection.connected) return;
      try {
        // It names what it ends: after a heartbeat of the next start it has no effect.
        await send(storedAs, goodbyeMs);
      } catch (thrown) {
        log.debug("goodbye not stored", { reason: describeError(thrown) });
      }
    },
  };
}

/** What is wrong on its host, while it is. */
function troublesOf(host: { isHealthOff?(): boolean; isDiskFull?(): boolean }) {
  return {
    ...(host.isHealthOff?.() === true ? { health: "off" as const } : {}),
    ...(host.isDiskFull?.() === true ? { disk: "full" as const } : {}),
  };
}
