import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { isId, timeOfId } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { type Bucket, createOrderedView } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { type Approval, readApproval } from "./record.ts";

/** The bucket removes older ones without a word. */
const retentionMs = 7 * 24 * 3600_000;
/** Far more than wait; the oldest go first. */
const maxKept = 10_000;

/** The requests that wait, or waited in the last days, in memory, kept current by one watch. */
export interface ApprovalView {
  /** Newest first, with everything that is stored now. @throws SvcError `storage` or `unavailable` */
  all(): Promise<Approval[]>;
  /** The same, as far as this master has seen: the bus is not asked. */
  seen(): Approval[];
  stop(): void;
}

interface Kept {
  id: string;
  /** Absent where no master made what is stored. */
  approval?: Approval;
}

export function followApprovals({
  bucket,
  mac,
  publisher,
  clock,
  log,
}: {
  bucket: Pick<Bucket, "watch">;
  mac: RecordMac;
  /** Learns of each version of each request, and when those that were there at the start are known. */
  publisher?: { note(approval: Approval, revision: number): void; loaded(): void };
  clock: Pick<Clock, "now">;
  log: Log;
}): ApprovalView {
  const distrust = (key: string) =>
    log.error("a stored approval is not from a master; it does not count", { key });
  const view = createOrderedView<Kept, Kept>({
    read(value, _, { key }) {
      const approval = readApproval(mac, key, value);
      if (approval !== undefined) return { id: key, approval };
      distrust(key);
      // A part of a message would keep all of it in memory.
      return { id: Buffer.from(key).toString() };
    },
    itemOf: (kept) => kept,
    placeOf: ({ id }) => ({ id, createdAt: rfc3339(timeOfId(id)) }),
    onValue({ approval }, { revision }) {
      if (approval !== undefined) publisher?.note(approval, revision);
    },
    onUnreadable: (key, thrown) =>
      log.error("a stored approval cannot be read", { key, reason: describeError(thrown) }),
    limits: { max: maxKept, oldest: () => rfc3339(clock.now() - retentionMs) },
  });
  const watch = bucket.watch((change) => {
    if (isId("apr", change.key)) view.apply(change);
    else if (change.value !== undefined) distrust(change.key);
  });
  watch.ready.then(
    () => publisher?.loaded(),
    // It stopped before: then no events are published about records that existed.
    () => {},
  );
  const seen = () =>
    view
      .kept()
      .flatMap(({ item }) => item.approval ?? [])
      .toReversed();
  return {
    async all() {
      await watch.caughtUp();
      return seen();
    },
    seen,
    stop: () => watch.stop(),
  };
}
