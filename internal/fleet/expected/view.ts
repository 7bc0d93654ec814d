import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Bucket, createOrderedView } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { claimedEnd, type ExpectedHost } from "./record.ts";
import { readExpected } from "./store.ts";

/** What is stored under a peel id. */
export interface KeptHost {
  peelId: string;
  revision: number;
  /** When it ends, by its own account; milliseconds since the Unix epoch. */
  endsAt: number;
  /** Absent where no master made it: it does not count, and takes a place until it has ended. */
  host?: ExpectedHost;
}

/** The expected hosts, in memory, kept current by one watch. */
export interface ExpectedView {
  /** By peel id, with everything that is stored now. @throws SvcError `storage` or `unavailable` */
  all(): Promise<readonly KeptHost[]>;
  stop(): void;
}

export function followExpected(deps: {
  bucket: Pick<Bucket, "watch">;
  mac: RecordMac;
  log: Log;
}): ExpectedView {
  const view = createOrderedView<KeptHost, KeptHost>({
    read(value, _, { key, revision }) {
      const found = readExpected(deps, { key, value, revision });
      // A part of a message would keep all of it in memory.
      if (found === undefined)
        return { peelId: Buffer.from(key).toString(), revision, endsAt: claimedEnd(value) };
      return { peelId: found.host.peelId, revision, endsAt: found.host.endsAt, host: found.host };
    },
    itemOf: (kept) => kept,
    // All of one time: the order is that of the ids.
    placeOf: ({ peelId }) => ({ id: peelId, createdAt: "" }),
    onUnreadable: (key, thrown) =>
      deps.log.error("a stored entry of an expected host cannot be read", {
        key,
        reason: describeError(thrown),
      }),
  });
  const watch = deps.bucket.watch(view.apply);
  return {
    async all() {
      await watch.caughtUp();
      return view.kept().map(({ item }) => item);
    },
    stop: () => watch.stop(),
  };
}
