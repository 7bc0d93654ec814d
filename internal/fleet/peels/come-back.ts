/** What a connection costs a server of the bus: TLS, the JWT, and what the peel subscribes to. Measured (docs/scale.md). */
const perPeelMs = 1.5;
const minMs = 1_000;
const maxMs = 60_000;

/**
 * Over how many milliseconds a fleet is to connect again after the bus was away: peels that all come at once wait for
 * each other, until their handshakes time out.
 *
 * @param peels members of the fleet
 */
export function comeBackMs(peels: number): number {
  return Math.min(Math.max(Math.round(peels * perPeelMs), minMs), maxMs);
}
