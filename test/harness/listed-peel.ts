import { mkdirSync } from "node:fs";
import type { Insistence } from "../../internal/agent/consent/create.ts";
import { type Local, openOutbox, startLocal } from "../../internal/agent/daemon/local.ts";
import { startWorker } from "../../internal/agent/daemon/worker.ts";
import { createExecutor } from "../../internal/agent/execution/executor.ts";
import type { Connection } from "../../internal/agent/link/connection.ts";
import { noMask } from "../../internal/agent/masking/mask.ts";
import { defined } from "../../internal/base/defined.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, type Plain } from "../../internal/base/msgpack.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { type Call, encodeCall } from "../../internal/wire/call.ts";
import { type CommandKind, signCommand } from "../../internal/wire/command.ts";
import type { JobReturn } from "../../internal/wire/return.ts";
import { manualClock, settle } from "./clock.ts";
import { recordingLog } from "./log.ts";

/** The command key of its masters. */
export const key = newKeyPair("user", systemRandom);

/** A peel whose functions end on command of the test, and whose bus is a list. @param dataDir does not exist yet */
export function listedPeel(dataDir: string, insistence?: Insistence) {
  mkdirSync(dataDir);
  const clock = manualClock();
  const log = recordingLog();
  const begun: string[] = [];
  const ends = new Map<string, (result?: Partial<JobReturn>) => void>();
  const messages: { about: string; value: Record<string, Plain> }[] = [];
  const bus = { connected: true, storing: true };
  const subscriptions = new Map<string, (subject: string, data: Uint8Array) => void>();
  const connectListeners = new Set<() => void>();
  const connection = {
    get connected() {
      return bus.connected;
    },
    async request(subject: string, data: Uint8Array) {
      if (!bus.storing) throw new Error("timeout");
      const [, , jid, kind] = subject.split(".");
      messages.push({ about: `${kind} ${jid}`, value: decode(data) as Record<string, Plain> });
      return Buffer.from(JSON.stringify({ stream: "job-events", seq: messages.length }));
    },
    publish(subject: string, data: Uint8Array) {
      const [, , jid, kind] = subject.split(".");
      messages.push({ about: `unconfirmed ${kind} ${jid}`, value: decode(data) as Record<string, Plain> });
    },
    subscribe: (subject: string, run: (subject: string, data: Uint8Array) => void) =>
      subscriptions.set(subject, run),
    onConnect(run: () => void) {
      connectListeners.add(run);
      run();
      return () => connectListeners.delete(run);
    },
  } as unknown as Connection;

  const start = () => {
    const started = startLocal({
      mask: () => noMask,
      ...openOutbox({ dataDir, clock, jitter: () => 0, log }),
      peelId: "web-1",
      dataDir,
      context: () => {
        throw new Error("no function of the product runs here");
      },
      clock,
      jitter: () => 0,
      log,
      isWatched: true,
    });
    const executor = createExecutor({
      isReadOnly: (call) => call.function.startsWith("read"),
      execute(call, signal) {
        begun.push(call.function);
        return new Promise((resolve) => {
          const end = (result: Partial<JobReturn> = {}) =>
            resolve({ success: true, retcode: 0, started_at: "", duration_ms: 0, ...result });
          ends.set(call.function, end);
          signal.addEventListener("abort", () => end({ success: false, retcode: 15 }));
        });
      },
      clock,
      log,
    });
    const local: Local = { ...started, executor };
    local.outbox.attach(connection);
    const commandKeys = { current: [key.publicKey] };
    return {
      local,
      worker: startWorker({
        ...{ connection, peelId: "web-1", commandKeys, local, clock, random: systemRandom, log },
        ...defined({ insistence }),
      }),
    };
  };
  let life = start();
  const sign = (kind: CommandKind, name: string, jid: string, deadline: number, call: Partial<Call> = {}) => {
    const body = kind === "stop" ? new Uint8Array() : encodeCall({ function: name, args: {}, ...call });
    return signCommand({ kind, jid, peel: "web-1", deadline, body }, key);
  };
  const deliver = async (kind: CommandKind, jid: string, bytes: Uint8Array) => {
    subscriptions.get(`svc.job.*.${kind}.web-1`)?.(`svc.job.${jid}.${kind}.web-1`, bytes);
    await settle();
  };
  const inAMinute = () => clock.now() + 60_000;
  return {
    dataDir,
    clock,
    log,
    begun,
    messages,
    bus,
    sign,
    deliver,
    inAMinute,
    get life() {
      return life;
    },
    said: () => messages.map(({ about }) => about),
    returnOf: (jid: string) => messages.findLast(({ about }) => about === `return ${jid}`)?.value,
    dispatch: (jid: string, name = jid, deadline = inAMinute()) =>
      deliver("dispatch", jid, sign("dispatch", name, jid, deadline)),
    /** As masters do that send the command again until the return is stored. */
    dispatchAgain: (jid: string, name = jid, deadline = inAMinute()) =>
      deliver("dispatch", jid, sign("dispatch", name, jid, deadline, { resends: true })),
    stop: (jid: string, deadline = inAMinute()) => deliver("stop", jid, sign("stop", "", jid, deadline)),
    async end(name: string, result?: Partial<JobReturn>) {
      ends.get(name)?.(result);
      await settle();
    },
    async connect() {
      bus.storing = true;
      for (const run of connectListeners) run();
      await settle();
    },
    /** Dies without a word, and starts again. */
    async crash() {
      life.local.outbox.stop();
      life.local.dedup.stop();
      life = start();
      await settle();
    },
  };
}
