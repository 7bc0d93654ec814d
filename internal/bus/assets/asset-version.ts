import { isOlderVersion } from "../../base/dotted-version.ts";
import type { Bus } from "../connection/mod.ts";

/** The version of what masters want streams to be like: it rises with each change of that. */
const assetVersion = 1;
const versionKey = "svc.version";
/** When a stream came from a backup, RFC 3339. */
const restoredKey = "svc.restored_at";
const oldestWithMetadata = "2.10.0";

type Metadata = Readonly<Record<string, string>>;

/** Whether the server that this connection leads to stores metadata of streams. */
export const storesMetadata = ({ nats }: Pick<Bus, "nats">): boolean =>
  nats.info !== undefined && !isOlderVersion(nats.info.version, oldestWithMetadata);

/** The metadata of a stream of this version; none where the server does not store it. */
export function versionMetadata(bus: Pick<Bus, "nats">): { metadata?: Metadata } {
  return storesMetadata(bus) ? { metadata: { [versionKey]: String(assetVersion) } } : {};
}

/** The metadata of a stream that comes from a backup now. */
export function restoredMetadata(
  bus: Pick<Bus, "nats">,
  metadata: unknown,
  at: string,
): { metadata?: Metadata } {
  return storesMetadata(bus) ? { metadata: { ...Object(metadata), [restoredKey]: at } } : {};
}

/** Whether a stream is as a later version wants it: what that means is not known here. */
export function isNewer({ metadata }: { metadata?: Metadata }): boolean {
  return Number(metadata?.[versionKey] ?? 0) > assetVersion;
}

/** When a stream came from a backup, milliseconds since the Unix epoch. */
export function restoredAt({ metadata }: { metadata?: Metadata }): number | undefined {
  const at = Date.parse(metadata?.[restoredKey] ?? "");
  return Number.isNaN(at) ? undefined : at;
}
