import { isOlderVersion } from "../../base/dotted-version.ts";

/**
 * The oldest server that may store replicas. On a cluster of older ones compare-and-swap does not hold: two
 * writers that name the same revision can both be acknowledged (decision 0004).
 */
export const oldestForReplicas = "2.10.27";

/** A server of the cluster. */
export interface BusServerInfo {
  name: string;
  /** `2.10.27` */
  version: string;
}

/** What an operator does about servers that are too old. */
export const replicaAdvice =
  "upgrade these servers one at a time (upgrading.md), or store one replica with storage_replicas: 1";

/**
 * Why these servers may not store replicas. Every server of the cluster counts: each can come to lead a
 * stream.
 *
 * @returns `undefined` when they may
 */
export function replicaProblem(servers: readonly BusServerInfo[]): string | undefined {
  const old = servers.filter(({ version }) => isOlderVersion(version, oldestForReplicas));
  if (old.length === 0) return undefined;
  const named = old.map(({ name, version }) => `${name} runs ${version}`).join(", ");
  return `streams with more than one replica need nats-server ${oldestForReplicas} or newer on every server of the cluster, and ${named}: two masters could both change the same record`;
}
