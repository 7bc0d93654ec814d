import { readFileSync } from "node:fs";
import { join } from "node:path";
import { consumerOpts, type JetStreamSubscription } from "nats";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import type { Bus } from "../../../internal/bus/connection/connect.ts";
import { connectBus } from "../../../internal/bus/connection/connect.ts";
import { parseJobSubject } from "../../../internal/bus/subjects/subjects.ts";
import { type KeyPair, keyPairFromSeed } from "../../../internal/identity/nkey.ts";
import { enlist, mintRequester } from "../../fleet/credentials.ts";
import { answerSubject } from "../../fleet/floor.ts";
import { connectTo, type TestBus } from "../../harness/bus.ts";
import { recordingLog } from "../../harness/log.ts";

/** Receives answers, with the time of each (milliseconds, monotonic). */
export interface Observer extends AsyncDisposable {
  /** A connection inside the peels' account: the asking side of the floor. */
  readonly requester: Bus;
  /** Signs the floor's asks; the peels know its public half. */
  readonly commandKey: KeyPair;
  /** A connection in the masters' account. */
  readonly master: Bus;
  /** Resolves with the times of a job's returns, or of bare answers, once so many of them have come. */
  arrived(key: string, count: number): Promise<readonly number[]>;
  /** Forgets what came for this job, or as bare answers. */
  forget(key: string): void;
}

/** A bench that waits forever says nothing. */
const maxMs = 180_000;

/** The key of the floor's bare answers; the key of stored returns is their job. */
export const bareAnswers = "bare";

/**
 * Watches the stream of returns as a consumer of it does, so that a return that was seen is stored, and
 * the bare answers of the floor with a plain subscription.
 */
export async function startObserver(bus: TestBus): Promise<Observer> {
  const arrivals = new Map<string, number[]>();
  const waiting = new Set<() => void>();
  const note = (key: string) => {
    const at = systemClock.monotonic();
    const times = arrivals.get(key);
    if (times === undefined) arrivals.set(key, [at]);
    else times.push(at);
    for (const check of waiting) check();
  };
  const wait = (key: string, count: number) =>
    new Promise<readonly number[]>((resolve, reject) => {
      const over = systemClock.after(maxMs, () => {
        waiting.delete(check);
        reject(
          new Error(`${arrivals.get(key)?.length ?? 0} of ${count} answers (${key}) in ${maxMs / 1000} s`),
        );
      });
      const check = () => {
        const times = arrivals.get(key);
        if (times === undefined || times.length < count) return;
        waiting.delete(check);
        over.cancel();
        resolve(times);
      };
      waiting.add(check);
      check();
    });

  const master = await connectTo(bus, "master");
  let last = 0;
  let current: JetStreamSubscription | undefined;
  const follow = async () => {
    current?.unsubscribe();
    const options = consumerOpts();
    options.orderedConsumer();
    if (last === 0) options.deliverNew();
    else options.startSequence(last + 1);
    options.callback((_, message) => {
      if (message === null || message.seq <= last) return;
      last = message.seq;
      const jid = parseJobSubject(message.subject)?.jid;
      if (jid !== undefined) note(jid);
    });
    current = await master.nats.jetstream({ checkAPI: false }).subscribe("svc.job.*.return.*", options);
  };
  await follow();
  // A restart of the bus removes the consumer. The library finds that out by missing heartbeats, seconds later:
  // until then it would look as if the peels did not answer.
  master.onReconnect(() => void retry(follow));

  const member = mintRequester(bus.authDir);
  await enlist(master, bus.authDir, [member]);
  const requester = await connectBus({
    urls: [bus.url],
    name: member.peelId,
    identity: { credentials: member.credentials },
    ca: bus.caPem,
    clock: systemClock,
    log: recordingLog(),
  });
  requester.nats.subscribe(answerSubject("*"), { callback: () => note(bareAnswers) });
  await requester.nats.flush();
  return {
    requester,
    commandKey: keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8")),
    master,
    arrived: wait,
    forget: (key) => {
      arrivals.delete(key);
    },
    async [Symbol.asyncDispose]() {
      await requester.nats.close();
      await master.nats.close();
    },
  };
}

const retryMs = 50;

/** JetStream is ready a little later than its server. */
async function retry(run: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await run();
    } catch {
      await sleep(systemClock, retryMs);
    }
  }
}
