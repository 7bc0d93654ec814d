import { originOf, relaySubject } from "../../bus/accounts/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { eventSubject, keySubject, mastersQueue, progressSubject } from "../../bus/subjects/subjects.ts";
import type { BudgetKind, Budgets } from "./budgets.ts";

export interface WatchUnreadDeps {
  /** The connection that messages of peels arrive on. */
  bus: Pick<Bus, "nats" | "log" | "serve">;
  budgets: Pick<Budgets, "note">;
  /** Whether masters relay what peels send to the storage. */
  relayed(): boolean;
  /** Whether this master was frozen just now: what waited meanwhile comes at once, and is not a flood. */
  isLate(): boolean;
}

/**
 * Watches what peels send although nobody here reads each message: events go to the master that runs the reactor, if
 * any, of facts only the latest are read, progress goes to operators that follow a job, and the differences of state
 * runs to operators that ask for them.
 *
 * Events and facts that masters relay are counted as the peel sent them, by each master: the relay shares them among
 * the masters and lets only a part of a flood pass, so that none of them would see it as one.
 */
export function watchUnread({ bus, budgets, relayed, isLate }: WatchUnreadDeps): { stop(): void } {
  const watch = (subject: string, kind: BudgetKind, counts: () => boolean) =>
    bus.nats.subscribe(subject, {
      callback(error, message) {
        if (error !== null) return bus.log.error("subscription error", { subject, error });
        const { peel } = originOf(message.subject);
        if (counts() && !isLate()) budgets.note(peel, kind, message.data.length);
      },
    });
  const always = () => true;
  const direct = () => !relayed();
  const events = eventSubject("*", ">");
  const facts = keySubject("facts", "*");
  const subscriptions = [
    watch(events, "events", direct),
    watch(facts, "facts", direct),
    watch(relaySubject(events), "events", always),
    watch(relaySubject(facts), "facts", always),
    watch(keySubject("compliance-diffs", "*"), "reports", always),
  ];
  const nothing = new Uint8Array();
  const noteProgress = (subject: string, bytes: number) =>
    budgets.note(originOf(subject).peel, "progress", bytes);
  // The bus remembers each request without an answer for two minutes.
  const progress = bus.serve(
    progressSubject("*", "*"),
    mastersQueue,
    (data, subject) => {
      noteProgress(subject, data.length);
      return nothing;
    },
    (subject) => noteProgress(subject, 0),
  );
  return {
    stop() {
      for (const subscription of subscriptions) subscription.unsubscribe();
      progress.stop();
    },
  };
}
