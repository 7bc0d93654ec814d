import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import type { FactMap } from "../../tree/targets/mod.ts";
import { enrollmentStates, labelsField, type Member } from "../enrollment/mod.ts";
import { described, timestamp, titled } from "../operation/mod.ts";
import type { FleetIndex } from "../targeting/mod.ts";

/** A peel writes its facts itself. */
const longestFact = 100;

/** A peel as lists, REST and the bus show it. What is not known is absent. */
export const shownPeel = titled(
  "Peel",
  v.object({
    id: described(v.string(), "Peel id with dots"),
    peel_id: described(v.string(), "Encoded peel id"),
    enrollment_id: described(v.string(), "Its enrollment in force"),
    state: described(v.picklist(enrollmentStates), "State of that enrollment"),
    alive: described(v.boolean(), "Whether its last heartbeat is less than 30 seconds old"),
    alive_since: v.exactOptional(
      described(timestamp, "Since when the master that answers hears it without a break"),
    ),
    silent_since: v.exactOptional(
      described(timestamp, "When it stopped being alive; absent when the master that answers never heard it"),
    ),
    version: v.exactOptional(described(v.string(), "Version of svc-peel, as it reports it")),
    address: v.exactOptional(described(v.string(), "Address from which the host asked to join")),
    os: v.exactOptional(described(v.string(), "Operating system and its release, as the peel reports it")),
    labels: labelsField,
    creds_expires_at: v.exactOptional(described(timestamp, "When its credentials for the bus expire")),
  }),
);
export type ShownPeel = v.InferOutput<typeof shownPeel>;

/** Puts together what a master knows of a member. */
export function showMember(peelId: string, member: Member, index: FactsAndLives): ShownPeel {
  const { id, state, address, labels = {}, credsExpiresAt } = member;
  const { alive, since } = index.lifeOf(peelId);
  const facts = index.factsOf(peelId);
  const at = since === undefined ? undefined : rfc3339(Math.floor(since));
  return {
    id: displayPeelId(peelId),
    peel_id: peelId,
    enrollment_id: id,
    state,
    alive,
    ...defined({
      ...(alive ? { alive_since: at } : { silent_since: at }),
      version: textOf(facts, "svc_version"),
      address,
      os: systemOf(facts),
    }),
    labels,
    ...(credsExpiresAt === undefined ? {} : { creds_expires_at: rfc3339(credsExpiresAt) }),
  };
}

/** What of the index of the fleet is shown. */
export type FactsAndLives = Pick<FleetIndex, "factsOf" | "lifeOf">;

/** `Debian 12` */
function systemOf(facts: FactMap | undefined): string | undefined {
  const [os, release] = [textOf(facts, "os"), textOf(facts, "osrelease")];
  return os === undefined || release === undefined ? os : `${os} ${release}`;
}

/** A fact that is a text or a number, shortened. */
function textOf(facts: FactMap | undefined, name: string): string | undefined {
  const value = facts?.values[facts.keys.indexOf(name)];
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  return String(value).slice(0, longestFact);
}
