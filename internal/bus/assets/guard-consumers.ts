import { AckPolicy, type ConsumerConfig } from "nats";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../connection/mod.ts";
import { managerOf, orStorageError, requestJetStream } from "../jetstream/mod.ts";
import { eventSubject, keySubject, returnSubject, scheduleSubject } from "../subjects/subjects.ts";
import { listConfigs } from "./guard-assets.ts";

/** The consumers that masters share, each with what it takes of its stream. Every other durable one is foreign. */
const ownConsumers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "job-events": {
    "schedule-results": scheduleSubject("*", "*"),
    "reactor-returns": returnSubject("*", "*"),
    "reactor-schedules": scheduleSubject("*", "*"),
  },
  events: { "reactor-events": eventSubject("*", ">") },
  KV_compliance: {
    "compliance-events": keySubject("compliance", "*"),
    "reactor-compliance": keySubject("compliance", "*"),
  },
  KV_enrollments: { "reactor-enrollments": keySubject("enrollments", "*") },
};

/** The subjects on which a server says that a consumer of the masters was changed. */
export const consumerAdvisories: readonly string[] = Object.entries(ownConsumers).flatMap(([stream, names]) =>
  Object.keys(names).map((name) => `$JS.EVENT.ADVISORY.CONSUMER.*.${stream}.${name}`),
);

/** A consumer that no master made. */
export interface ForeignConsumer {
  stream: string;
  name: string;
  /** Where it has the server publish; absent for one that is pulled. */
  delivers_to?: string;
  /** RFC 3339. */
  created: string;
}

/** A consumer of the masters that is not as they made it. */
interface ChangedConsumer {
  stream: string;
  name: string;
  /** The fields that differ. */
  fields: readonly string[];
}

interface Page {
  total: number;
  consumers: { name: string; created: string; config: ConsumerConfig & { pause_until?: string } }[];
}

/**
 * Finds consumers that no master made, which are durable ones with a name that masters do not use, and those that have
 * the server publish elsewhere than to an inbox; and consumers of the masters that were changed.
 *
 * @throws SvcError `storage`
 */
export function inspectConsumers(
  bus: Pick<Bus, "nats">,
): Promise<{ foreign: ForeignConsumer[]; changed: ChangedConsumer[] }> {
  return orStorageError("the consumers", async () => {
    const foreign: ForeignConsumer[] = [];
    const changed: ChangedConsumer[] = [];
    for (const stream of (await listConfigs(bus)).keys()) {
      for (const { name, created, config } of await consumersOf(bus, stream)) {
        const filter = ownConsumers[stream]?.[config.durable_name ?? ""];
        const { deliver_subject: to } = config;
        if (filter !== undefined) {
          const fields = differing(config, filter);
          if (fields.length > 0) changed.push({ stream, name, fields });
        } else if (config.durable_name !== undefined || (to !== undefined && !/^_INBOX[._]/.test(to))) {
          foreign.push({ stream, name, created, ...(to === undefined ? {} : { delivers_to: to }) });
        }
      }
    }
    return { foreign, changed };
  });
}

async function consumersOf(bus: Pick<Bus, "nats">, stream: string): Promise<Page["consumers"]> {
  const found: Page["consumers"] = [];
  for (;;) {
    const query = JSON.stringify({ offset: found.length });
    const { total = 0, consumers } = await requestJetStream<Page>(
      bus,
      `$JS.API.CONSUMER.LIST.${stream}`,
      query,
    );
    found.push(...(consumers ?? []));
    if (found.length >= total || (consumers ?? []).length === 0) return found;
  }
}

function differing(config: Page["consumers"][number]["config"], filter: string): string[] {
  return [
    ...(config.filter_subject === filter ? [] : ["filter_subject"]),
    ...(config.deliver_subject === undefined ? [] : ["deliver_subject"]),
    ...(config.ack_policy === AckPolicy.Explicit ? [] : ["ack_policy"]),
    ...(config.pause_until === undefined ? [] : ["pause_until"]),
  ];
}

/**
 * Removes a consumer of the masters that was changed: they make it again, and what it delivers twice is recognized.
 *
 * @returns whether it is removed
 */
export async function restoreConsumer(
  bus: Bus,
  { stream, name, fields }: ChangedConsumer,
  log: Log,
): Promise<boolean> {
  const about = { stream, consumer: name, fields: fields.join(", ") };
  try {
    await (await managerOf(bus)).consumers.delete(stream, name);
    log.warn("a consumer of the masters was changed by someone else; it is made again", about);
    return true;
  } catch (thrown) {
    log.error("a consumer of the masters was changed by someone else, and cannot be removed", {
      ...{ ...about, error: describeError(thrown) },
    });
    return false;
  }
}
