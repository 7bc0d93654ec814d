import { type Check, callsOf } from "../history.ts";

/** A peel whose record is revoked is not connected to any server, and cannot connect. */
export const checkRevokedConnected: Check = (history, final) => {
  const requested = new Map(callsOf(history, "revoke").map(({ enrollment, at }) => [enrollment ?? "", at]));
  const inside = final.revoked.filter(({ connected }) => connected);
  return [...Map.groupBy(inside, ({ enrollment }) => enrollment)].map(([id, tries]) => ({
    invariant: "revoked stay out",
    at: final.seen[id] ?? requested.get(id) ?? 0,
    text: `${id} is revoked and connected to ${tries.map(({ server }) => server).join(", ")}`,
  }));
};
