import { nanos, type StreamConfig } from "nats";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../connection/mod.ts";
import { managerOf, orStorageError, requestJetStream } from "../jetstream/mod.ts";
import { isNewer, restoredAt, versionMetadata } from "./asset-version.ts";
import { type AssetName, assets, streamConfig, streamName, yieldingHistory } from "./assets.ts";

/** A stream of the service that is not as it should be. */
export interface Deviation {
  asset: AssetName;
  /** The fields that differ; empty for a stream that is missing. */
  fields: readonly string[];
}

/** What the bus has of the streams of the service. */
export interface AssetReport {
  deviations: readonly Deviation[];
  /** How many bytes each may hold. */
  limits: Readonly<Partial<Record<AssetName, number>>>;
  /** When one of them came from a backup last, milliseconds since the Unix epoch. */
  restoredAt?: number;
}

interface Listed {
  total: number;
  streams: { config: StreamConfig }[];
}

/** What a stream of the service never has: with it the server would publish, copy or refuse for someone else. */
const never = [
  ...["mirror", "sources", "republish", "subject_transform", "sealed", "no_ack", "mirror_direct"],
  "discard_new_per_subject",
] as const;
/** What stays as it was created, whatever happens to the fleet. Masters fit the rest to what the bus offers. */
const fixed = [
  ...["subjects", "retention", "storage", "max_msgs", "max_age", "max_msg_size", "max_consumers", "discard"],
  ...["allow_rollup_hdrs", "deny_delete", "deny_purge", "duplicate_window"],
] as const;

/** The fields of a stream that differ from what masters want. */
function differing(asset: AssetName, found: StreamConfig, auditRetentionMs: number): string[] {
  const wanted = wantedConfig(asset, auditRetentionMs);
  const has = (config: object, field: string) => (config as Readonly<Record<string, unknown>>)[field];
  const isEmpty = (value: unknown) =>
    value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0);
  const isEqual = (field: string) => Bun.deepEquals(has(found, field) ?? false, has(wanted, field) ?? false);
  // Fewer revisions of facts are kept where there is no room for more.
  const kept = yieldingHistory(asset) === undefined ? ["max_msgs_per_subject"] : [];
  return [
    ...[...fixed, ...kept].filter((field) => !isEqual(field)),
    ...never.filter((field) => !isEmpty(has(found, field))),
  ];
}

function wantedConfig(asset: AssetName, auditRetentionMs: number): StreamConfig {
  const wanted = streamConfig(asset, -1, 1);
  return asset === "audit" ? { ...wanted, max_age: nanos(auditRetentionMs) } : wanted;
}

/** Compares every stream of the service with what it should be. @throws SvcError `storage` */
export function inspectConfigs(bus: Pick<Bus, "nats">, auditRetentionMs: number): Promise<AssetReport> {
  return orStorageError("the streams", async () => {
    const found = await listConfigs(bus);
    const names = Object.keys(assets) as AssetName[];
    const deviations = names.flatMap((asset): Deviation[] => {
      const config = found.get(streamName(asset));
      if (config === undefined) return [{ asset, fields: [] }];
      if (isNewer(config)) return [];
      const fields = differing(asset, config, auditRetentionMs);
      return fields.length === 0 ? [] : [{ asset, fields }];
    });
    const limits = Object.fromEntries(
      names.map((asset) => [asset, found.get(streamName(asset))?.max_bytes]),
    ) as AssetReport["limits"];
    const restored = [...found.values()].flatMap((config) => restoredAt(config) ?? []);
    return { deviations, limits, ...(restored.length === 0 ? {} : { restoredAt: Math.max(...restored) }) };
  });
}

export async function listConfigs(bus: Pick<Bus, "nats">): Promise<ReadonlyMap<string, StreamConfig>> {
  const found = new Map<string, StreamConfig>();
  for (;;) {
    const query = JSON.stringify({ offset: found.size });
    const { total = 0, streams } = await requestJetStream<Listed>(bus, "$JS.API.STREAM.LIST", query);
    for (const { config } of streams ?? []) found.set(config.name, config);
    if (found.size >= total || (streams ?? []).length === 0) return found;
  }
}

/**
 * Repairs a stream. What was created otherwise, such as where it is stored, no server changes: it is logged.
 *
 * @returns whether it is as it should be now
 */
export async function restoreConfig(
  bus: Bus,
  { asset, fields }: Deviation,
  auditRetentionMs: number,
  log: Log,
): Promise<boolean> {
  const stream = streamName(asset);
  try {
    const manager = await managerOf(bus);
    const { config } = await manager.streams.info(stream);
    const wanted = wantedConfig(asset, auditRetentionMs) as unknown as Readonly<Record<string, unknown>>;
    const right = Object.fromEntries(fields.map((field) => [field, wanted[field]]));
    const { metadata } = versionMetadata(bus);
    await manager.streams.update(stream, {
      ...{ ...config, ...right },
      ...(metadata === undefined ? {} : { metadata: { ...config.metadata, ...metadata } }),
    });
    log.warn("the configuration of a stream was changed by someone else; it is repaired", {
      ...{ stream, fields: fields.join(", ") },
    });
    return true;
  } catch (thrown) {
    log.error("the configuration of a stream was changed by someone else, and cannot be repaired", {
      ...{ stream, fields: fields.join(", "), error: describeError(thrown) },
    });
    return false;
  }
}
