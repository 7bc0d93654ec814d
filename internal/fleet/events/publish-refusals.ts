import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { append, lastOn } from "../../bus/streams/mod.ts";
import { eventSubject } from "../../bus/subjects/subjects.ts";
import { decodeServiceEvent, encodeServiceEvent } from "../../wire/peel-event.ts";
import { masterSource } from "../reactor/events/mod.ts";
import { createPublisher } from "./publisher.ts";

/** State files that do not come into force, because something in them is broken. */
export interface RefusedStates {
  environment: string;
  commit: string;
  snapshot: string;
  problems: readonly { file: string; line: number; column: number; reason: string }[];
}

/** The rest is in the answer of `svc state lint`. */
const maxProblems = 20;

/** Publishes `svc/states/refused`. A master that takes over refuses the same files again, and adds no second event. */
export function publishRefusals({ bus, clock, log }: { bus: Bus; clock: Clock; log: Log }): {
  report(refused: RefusedStates): void;
  stop(): Promise<void>;
} {
  const publisher = createPublisher({ clock, log });
  const subject = eventSubject(masterSource, "svc.states.refused");
  const store = async ({ environment, commit, snapshot, problems }: RefusedStates): Promise<void> => {
    const shown = problems.slice(0, maxProblems).map((problem) => ({ ...problem }));
    const data: Record<string, Plain> = { environment, commit, snapshot, problems: shown };
    for (;;) {
      const last = await lastOn(bus, "events", subject);
      if (last !== undefined && isSame(last.data, data)) return;
      const message = encodeServiceEvent({ data, source: masterSource, depth: 0 });
      if (await append(bus, subject, message, { after: last?.sequence ?? 0 })) return;
    }
  };
  return {
    report: (refused) => publisher.report(refused.environment, () => store(refused)),
    stop: publisher.stop,
  };
}

function isSame(message: Uint8Array, refused: Record<string, Plain>): boolean {
  try {
    const { data } = decodeServiceEvent(message);
    return ["environment", "commit", "snapshot"].every((name) => data[name] === refused[name]);
  } catch {
    return false;
  }
}
