import type { Bus } from "../connection/mod.ts";
import { streamName } from "./assets.ts";
import { inspectConfigs } from "./guard-assets.ts";
import { type ForeignConsumer, inspectConsumers } from "./guard-consumers.ts";

/** What differs on the bus from what masters want, and the consumers that no master made. @throws SvcError `storage` */
export async function lintBus(
  bus: Pick<Bus, "nats">,
  auditRetentionMs: number,
): Promise<{
  changed: { stream: string; consumer?: string; fields: string[] }[];
  foreign: ForeignConsumer[];
}> {
  const { deviations } = await inspectConfigs(bus, auditRetentionMs);
  const { changed, foreign } = await inspectConsumers(bus);
  return {
    changed: [
      ...deviations.map(({ asset, fields }) => ({ stream: streamName(asset), fields: [...fields] })),
      ...changed.map(({ stream, name, fields }) => ({ stream, consumer: name, fields: [...fields] })),
    ],
    foreign,
  };
}
