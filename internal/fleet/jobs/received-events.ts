import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { StoredMessage } from "../../bus/streams/mod.ts";
import { jobEventSubjects } from "../../bus/subjects/subjects.ts";
import { type JobEvent, type JobNews, readEvent, readNews } from "./events.ts";
import type { Job } from "./records/mod.ts";

const retainMs = 10_000;
const maxBytes = 16 * 1024 * 1024;
/** The clocks of two masters differ by less while both decide anything. */
const clockMarginMs = 5_000;
const jobPrefix = "svc.job.";

type TakeEvent = (event: JobEvent) => void;

/** What peels say of jobs: received and decoded once on each master, however many follow a job there. */
export interface ReceivedEvents {
  /**
   * Passes on what came of a job a moment ago, and then each event of it, in the order of their arrival.
   *
   * @returns also whether nothing may be missing: a job that has just begun needs no read from the bus
   */
  follow(job: Pick<Job, "jid" | "createdAt">, take: TakeEvent): { isWhole: boolean; stop(): void };
  /** Passes on an event that was missed when it came. */
  pass: TakeEvent;
  stop(): void;
}

interface ReceiveDeps {
  /** The connection that messages of peels arrive on. */
  peelBus: Pick<Bus, "nats" | "onReconnect">;
  /** Whether a message is within the budget of its peel; called before it is decoded. */
  admit(peel: string, bytes: number): boolean;
  clock: Pick<Clock, "now">;
  log: Log;
}

/**
 * Subscribes only to messages of peels: one wildcard for all messages of a job would return every command to every
 * master.
 *
 * @param note gets every event, also of jobs that nobody follows: of these only how they ended is decoded
 */
export function receiveEvents(
  { peelBus, admit, clock, log }: ReceiveDeps,
  note: (event: JobNews) => void,
): ReceivedEvents {
  const recent = createRecent(clock);
  const followers = new Map<string, Set<TakeEvent>>();
  const pass: TakeEvent = (event) => {
    for (const take of followers.get(event.jid) ?? []) take(event);
  };
  const receive = (message: StoredMessage) => {
    recent.retain(message);
    if (!followers.has(jidOf(message.subject))) {
      const news = readNews(message);
      if (news !== undefined) note(news);
      return;
    }
    const event = readEvent(message);
    if (event === undefined) return;
    note(event);
    pass(event);
  };
  const subscriptions = jobEventSubjects.map((pattern) =>
    peelBus.nats.subscribe(pattern, {
      callback(error, { subject, data }) {
        if (error !== null) return log.error("subscription error", { subject: pattern, error });
        // The last token, as `parseJobSubject` reads it: a peel chooses how long the subject is.
        if (!admit(subject.slice(subject.lastIndexOf(".") + 1), data.length)) return recent.miss();
        receive({ subject, data, storedAt: clock.now() });
      },
    }),
  );
  const stopForgetting = peelBus.onReconnect(recent.forget);
  return {
    follow(job, take) {
      const takers = followers.get(job.jid) ?? new Set();
      const { messages, isWhole } = recent.of(job);
      for (const message of messages) {
        const event = readEvent(message);
        if (event !== undefined) take(event);
      }
      followers.set(job.jid, takers.add(take));
      return {
        isWhole,
        stop() {
          takers.delete(take);
          if (takers.size === 0) followers.delete(job.jid);
        },
      };
    },
    pass,
    stop() {
      for (const subscription of subscriptions) subscription.unsubscribe();
      stopForgetting();
    },
  };
}

function jidOf(subject: string): string {
  return subject.slice(jobPrefix.length, subject.indexOf(".", jobPrefix.length));
}

/** The messages of a moment ago, of all jobs. */
function createRecent({ now }: Pick<Clock, "now">) {
  let kept: StoredMessage[] = [];
  let head = 0;
  let bytes = 0;
  /** Every message since then is kept. */
  let since = now();
  const drop = () => {
    const oldest = now() - retainMs;
    for (let first = kept[head]; first !== undefined; first = kept[head]) {
      if (bytes <= maxBytes && first.storedAt >= oldest) break;
      bytes -= first.data.length;
      since = Math.max(since, first.storedAt + 1);
      head++;
    }
    if (head < 1_024 || head < kept.length / 2) return;
    kept = kept.slice(head);
    head = 0;
  };
  return {
    retain(message: StoredMessage) {
      kept.push(message);
      bytes += message.data.length;
      drop();
    },
    of({ jid, createdAt }: Pick<Job, "jid" | "createdAt">): { messages: StoredMessage[]; isWhole: boolean } {
      drop();
      const prefix = `${jobPrefix}${jid}.`;
      return {
        messages: kept.slice(head).filter(({ subject }) => subject.startsWith(prefix)),
        // The master that made the job may have another clock.
        isWhole: createdAt >= since + clockMarginMs,
      };
    },
    /** A message was not taken. */
    miss() {
      since = now() + 1;
    },
    /** Some messages were missed until now. */
    forget() {
      kept = [];
      head = 0;
      bytes = 0;
      since = now();
    },
  };
}
