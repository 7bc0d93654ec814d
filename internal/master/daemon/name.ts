import type { Random } from "../../base/id.ts";

/**
 * The name of a running master: as holder of a lease, as driver of a rollout, in its heartbeat and in its
 * log. It differs for two masters on one host, and for each start.
 *
 * @returns the host, and 8 hexadecimal digits; without a dot, so that it is one token of a subject
 */
export function masterName(hostname: string, random: Random): string {
  return `${hostname.replace(/[^A-Za-z0-9-]/g, "-")}-${Buffer.from(random(4)).toString("hex")}`;
}
