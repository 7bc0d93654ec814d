import type { Random } from "../../base/id.ts";

/**
 * The name of a running master wherever one is named: as holder of a lease, as driver of a rollout, in its
 * heartbeat and in its log. Two may run on one host, and none is mistaken for the one that ran before it.
 *
 * @returns the host, and 8 hexadecimal digits; without a dot, so that it is one token of a subject
 */
export function masterName(hostname: string, random: Random): string {
  return `${hostname.replace(/[^A-Za-z0-9-]/g, "-")}-${Buffer.from(random(4)).toString("hex")}`;
}
