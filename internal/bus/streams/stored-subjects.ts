import { isOlderVersion } from "../../base/dotted-version.ts";
import { type Bus, isClustered } from "../connection/mod.ts";
import { orStorageError, requestJetStream } from "../jetstream/mod.ts";

/** The oldest server that finds subjects in a tree. Earlier ones compare every subject that they store. */
const oldestWithTree = "2.10.0";

interface Reply {
  /** How many subjects match, on all pages. */
  total: number;
  state: { subjects?: Record<string, number> };
}

/**
 * Whether masters can find out which messages of peels are stored, with one request for many: the server is alone, so
 * that it captures them by itself, and it is not too old.
 */
export function reportsStored(bus: Pick<Bus, "nats">): boolean {
  const version = bus.nats.info?.version;
  return version !== undefined && !isClustered(bus) && !isOlderVersion(version, oldestWithTree);
}

/**
 * The subjects that match a filter and on which a stream holds messages (NATS document "JetStream wire API",
 * `STREAM.INFO` with `subjects_filter`). To be asked only of a bus that `reportsStored`.
 *
 * @throws SvcError `storage`
 */
export function storedSubjects(
  bus: Pick<Bus, "nats">,
  stream: string,
  filter: string,
): Promise<ReadonlySet<string>> {
  return orStorageError(`the stream ${stream}`, async () => {
    const found = new Set<string>();
    for (;;) {
      const query = JSON.stringify({ subjects_filter: filter, offset: found.size });
      const { total = 0, state } = await requestJetStream<Reply>(bus, `$JS.API.STREAM.INFO.${stream}`, query);
      const page = Object.keys(state?.subjects ?? {});
      for (const subject of page) found.add(subject);
      if (page.length === 0 || found.size >= total) return found;
    }
  });
}
