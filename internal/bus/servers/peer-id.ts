import { sha256 } from "../../base/sha256.ts";

const symbols = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const length = 8;

/**
 * The ID by which the groups of a cluster count a server: nats-server derives it from the name of the server. It learns
 * the name from that server itself, so servers that have all restarted know one that is away by its ID alone.
 */
export function peerIdOf(server: string): string {
  return [...sha256(server).subarray(0, length)].map((byte) => symbols[byte % symbols.length]).join("");
}

/**
 * The name of a server of a group.
 *
 * @param named what a server calls it
 * @param known names that servers of this cluster may have
 */
export function serverOfPeer(named: string, known: readonly string[]): string {
  const id = /^Server name unknown at this time \(peerID: (\w+)\)$/.exec(named)?.[1];
  if (id === undefined) return named;
  return known.find((server) => peerIdOf(server) === id) ?? named;
}
