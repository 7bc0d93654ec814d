import { systemClock } from "../../internal/base/clock.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { decodeRollout, type Rollout } from "../../internal/fleet/rollout/record.ts";
import { decodeCall } from "../../internal/wire/call.ts";
import type { ManualPeel } from "./manual-peel.ts";

/** A job that a simulated peel has begun to run. */
export interface Execution {
  peel: string;
  jid: string;
  function: string;
  /** The jobs that any peel was running when it began this one. */
  beside: readonly string[];
}

/** Peels that run each received job once, record it, and can be held. */
export interface CountingPeels {
  /** In the order in which they began. */
  readonly ran: readonly Execution[];
  /** What peels could not tell the bus. */
  readonly failures: readonly unknown[];
  until(isWanted: (ran: readonly Execution[]) => boolean): Promise<void>;
  /** What is not answered until it is let go, or told to stop, as `<peel> <function>`; nothing else is held. */
  hold(...what: string[]): void;
  letGo(...what: string[]): void;
  /** What fails from now on, and nothing else. */
  fail(...what: string[]): void;
}

const timeoutMs = 60_000;
const cancelled = { success: false, retcode: 1, outcome: "cancelled", error: "cancelled" } as const;

/** Lets manual peels work by themselves. */
export function countExecutions(peels: readonly ManualPeel[]): CountingPeels {
  const ran: Execution[] = [];
  const failures: unknown[] = [];
  const failed = (error: unknown) => {
    failures.push(error);
  };
  const running: string[] = [];
  const waiting = waiters(timeoutMs);
  const held = new Map<string, PromiseWithResolvers<void>>();
  const stops = new Map<string, PromiseWithResolvers<void>>();
  let failing = new Set<string>();
  const stopOf = (jid: string, peel: string) => {
    const key = `${jid} ${peel}`;
    const found = stops.get(key) ?? Promise.withResolvers<void>();
    stops.set(key, found);
    return found;
  };
  const run = async (peel: ManualPeel, jid: string, body: Uint8Array) => {
    const { peelId } = peel;
    const call = decodeCall(body);
    const name = `${peelId} ${call.function}`;
    await peel.acknowledge(jid);
    ran.push({ peel: peelId, jid, function: call.function, beside: [...running] });
    running.push(jid);
    waiting.check();
    const stopped = stopOf(jid, peelId).promise.then(() => true);
    const free = held.get(name)?.promise.then(() => false) ?? false;
    const isStopped = await Promise.race([free, stopped]);
    running.splice(running.indexOf(jid), 1);
    const answer = failing.has(name) ? { success: false, retcode: 1 } : {};
    await peel.answer(jid, isStopped ? cancelled : answer);
  };
  const work = async (peel: ManualPeel, known: Set<string>) => {
    for (;;) {
      const { jid, body } = await peel.next("dispatch");
      // As a peel does: what comes again is the same job, and is not run again.
      if (known.has(jid)) continue;
      known.add(jid);
      run(peel, jid, body).catch(failed);
    }
  };
  const heed = async (peel: ManualPeel, known: Set<string>) => {
    for (;;) {
      const { jid } = await peel.next("stop");
      stopOf(jid, peel.peelId).resolve();
      if (known.has(jid)) continue;
      // As a peel does: a job whose end came first is not begun any more.
      known.add(jid);
      peel.answer(jid, cancelled).catch(failed);
    }
  };
  for (const peel of peels) {
    const known = new Set<string>();
    void work(peel, known);
    void heed(peel, known);
  }
  return {
    ran,
    failures,
    until: (isWanted) => waiting.until(() => isWanted(ran)),
    hold(...what) {
      for (const { resolve } of held.values()) resolve();
      held.clear();
      for (const name of what) held.set(name, Promise.withResolvers());
    },
    letGo(...what) {
      for (const name of what) held.get(name)?.resolve();
    },
    fail(...what) {
      failing = new Set(what);
    },
  };
}

/** Follows the bucket of rollouts from its beginning. @param timeout how long a wait may take, milliseconds */
export async function followRollouts(
  bus: Bus,
  timeout = timeoutMs,
): Promise<{
  /** Resolves with a rollout as soon as one is as wanted. */
  until(isWanted: (rollout: Rollout) => boolean): Promise<Rollout>;
  stop(): void;
}> {
  const rollouts = new Map<string, Rollout>();
  const waiting = waiters(timeout);
  const bucket = await openBucket(bus, "rollouts");
  const watch = bucket.watch(({ key, value }) => {
    if (value === undefined) return;
    rollouts.set(key, decodeRollout(value));
    waiting.check();
  }, "*");
  await watch.ready;
  return {
    async until(isWanted) {
      let found: Rollout | undefined;
      await waiting.until(() => {
        found = [...rollouts.values()].find(isWanted);
        return found !== undefined;
      });
      return found as Rollout;
    },
    stop: () => watch.stop(),
  };
}

/** Waiters for a condition. */
function waiters(timeout: number) {
  const readers = new Set<() => void>();
  return {
    check() {
      for (const check of readers) check();
    },
    until: (isSo: () => boolean) =>
      new Promise<void>((resolve, reject) => {
        const finish = (settle: () => void) => {
          readers.delete(check);
          timer.cancel();
          settle();
        };
        const check = () => {
          if (isSo()) finish(resolve);
        };
        const timer = systemClock.after(timeout, () =>
          finish(() => reject(new Error(`after ${timeout / 1000} s it was still not so: ${isSo}`))),
        );
        readers.add(check);
        check();
      }),
  };
}
