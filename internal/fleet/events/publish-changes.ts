import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { append, lastOn } from "../../bus/streams/mod.ts";
import { eventSubject } from "../../bus/subjects/subjects.ts";
import { decodeServiceEvent, encodeServiceEvent } from "../../wire/peel-event.ts";
import { masterSource } from "../reactor/events/mod.ts";
import { createBacklog } from "./backlog.ts";
import { createPublisher } from "./publisher.ts";

/** Reports that something came to another state. */
export interface ChangeTeller<T> {
  /** It, as it is stored now. */
  note(item: T, revision: number): void;
  /** Those that were stored before this master started are known. */
  loaded(): void;
  stop(): Promise<void>;
}

/** The events of a kind of records. */
export interface PublishedKind<T> {
  /** The second segment of the tags: `rollout` gives `svc/rollout/<id>/changed`. */
  name: string;
  idOf(item: T): string;
  /** Two reports in a row differ in this. */
  stateOf(item: T): string;
  /** The same, of the data of a report; `undefined` for what no report says. */
  stateSaid(data: Readonly<Record<string, unknown>>): string | undefined;
  dataOf(item: T): Record<string, Plain>;
  /** How many reactions led to it. */
  depthOf(item: T): number;
  /** Whether more changes follow. */
  isLive(item: T): boolean;
  /** When it was stored last, milliseconds since the Unix epoch. */
  storedAt(item: T): number;
}

/**
 * Every master sees every record and reports it. A report names the revision of the record, and is stored only
 * behind the report before it, so that the stream has each change once.
 */
export function publishChanges<T>(
  kind: PublishedKind<T>,
  { bus, clock, log }: { bus: Bus; clock: Clock; log: Log },
): ChangeTeller<T> {
  const publisher = createPublisher({ clock, log });
  const backlog = createBacklog<{ item: T; revision: number }>();
  /** Records that have not ended. A record may be written without a change worth an event. */
  const noted = new Map<string, string>();
  let isLoaded = false;

  const said = (message: Uint8Array): { state: string; revision: number } | undefined => {
    try {
      const { data } = decodeServiceEvent(message);
      const state = kind.stateSaid(data);
      const { revision } = data;
      return state === undefined || typeof revision !== "number" ? undefined : { state, revision };
    } catch {
      return undefined;
    }
  };
  const store = async (item: T, revision: number): Promise<void> => {
    const subject = eventSubject(masterSource, `svc.${kind.name}.${kind.idOf(item)}.changed`);
    for (;;) {
      const last = await lastOn(bus, "events", subject);
      const before = last === undefined ? undefined : said(last.data);
      if (before !== undefined && before.revision >= revision) return;
      if (before?.state === kind.stateOf(item)) return;
      const data = { ...kind.dataOf(item), revision };
      const message = encodeServiceEvent({ data, source: masterSource, depth: kind.depthOf(item) });
      if (await append(bus, subject, message, { after: last?.sequence ?? 0 })) return;
    }
  };
  const report = (item: T, revision: number) => {
    const [id, state] = [kind.idOf(item), kind.stateOf(item)];
    if (noted.get(id) === state) return;
    if (kind.isLive(item)) noted.set(id, state);
    else noted.delete(id);
    publisher.report(id, () => store(item, revision));
  };
  return {
    note(item, revision) {
      if (isLoaded) report(item, revision);
      else backlog.add({ item, revision }, kind.storedAt(item));
    },
    loaded() {
      isLoaded = true;
      for (const { item, revision } of backlog.take(clock.now())) report(item, revision);
    },
    stop: publisher.stop,
  };
}
