import { connectInTime, type Guest } from "./applicants.ts";
import { callsOf, isAcknowledged } from "./history.ts";
import type { Site } from "./site.ts";

const max = 24;

/**
 * Tries to connect as some of the guests whose revocation was acknowledged, and notes those that can: so that it is
 * known which fault let them in.
 *
 * @param at when that fault began
 */
export async function sightRevoked(
  { recorder, servers }: Site,
  guests: readonly Guest[],
  at: number,
  seen: Record<string, number>,
): Promise<void> {
  const revoked = new Set(
    callsOf(recorder.history, "revoke")
      .filter((call) => isAcknowledged(call) && call.ended < at)
      .map(({ enrollment }) => enrollment),
  );
  const known = guests.filter(({ enrollment }) => revoked.has(enrollment) && !(enrollment in seen));
  const step = Math.max(1, known.length / max);
  const some = known.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  await Promise.all(
    some.map(async (guest, index) => {
      const server = servers.list[index % servers.list.length];
      const connection = server && (await connectInTime(server, servers.caPem, guest));
      if (connection === undefined) return;
      seen[guest.enrollment] = at;
      await connection.nats.close();
    }),
  );
}
