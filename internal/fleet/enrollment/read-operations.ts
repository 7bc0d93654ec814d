import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { displayPeelId, encodePeelId } from "../../base/names/peel-id.ts";
import { suggestName } from "../../base/nearest.ts";
import { described, timestamp, titled } from "../../base/schema.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { keyFingerprint } from "../../identity/mod.ts";
import { operation } from "../operation/mod.ts";
import { peelIdField } from "./joining/mod.ts";
import { type Enrollment, enrollmentSchema, toStored, trustOf, trustWords } from "./record/mod.ts";
import { readStrays } from "./revocation/mod.ts";
import { type Directory, type Enrollments, findByPeel, loadEnrollment } from "./store/mod.ts";

/** Where one enrollment is looked up. */
export interface ShowEnrollmentDeps {
  enrollments: Enrollments;
  directory: Pick<Directory, "list" | "pick">;
  /** SPKI pins of the roots of this fleet, to compare with the one that a peel trusted. */
  pins(): readonly string[];
}

export const showEnrollment = operation({
  name: "enrollments.show",
  kind: "read",
  summary: "Show the record of an enrollment",
  description: "Also of one that is ignored because no master vouches for it, which `trust` shows.",
  input: v.strictObject({
    id: v.optional(described(v.string(), "Id of the enrollment: `enr-` and a KSUID")),
    peel: v.optional(
      described(v.string(), "In place of `id`: the peel, for the enrollment in force or the last one"),
    ),
  }),
  output: v.object({
    enrollment: enrollmentSchema,
    trust: v.picklist(trustWords),
    fingerprint: described(v.string(), "Of the public key, to compare it with what the peel logs"),
    fleet_ca_spki: v.exactOptional(
      described(v.array(v.string()), "The roots of this fleet, where the peel said which one it trusted"),
    ),
  }),
  touches: ({ id = "", peel }) => (peel === undefined ? { enrollment: id } : { peel: encodePeelId(peel) }),
  async run({ enrollments, directory, pins }: ShowEnrollmentDeps, input, { note }) {
    // A path has an id: with both, the answer would be about another enrollment than the path.
    if (input.id !== undefined && input.peel !== undefined) {
      throw new SvcError("bad_request", "id and peel exclude each other: name the enrollment or its peel");
    }
    // Without the vouchers: what others changed is shown, so that it can be compared and restored.
    const { vouchers: _, readings: __, ...raw } = enrollments;
    const record =
      input.peel === undefined
        ? (await loadEnrollment(raw, input.id ?? "")).record
        : await recordOf(raw, directory, encodePeelId(input.peel));
    note?.({ enrollment_id: record.id });
    const fleet = record.trustedCaSpki === undefined ? [] : pins();
    return {
      enrollment: toStored(record),
      trust: directory.pick({ state: "all", ids: [record.id] })[0]?.trust ?? trustOf(record),
      fingerprint: keyFingerprint(record.publicKey),
      ...(fleet.length === 0 ? {} : { fleet_ca_spki: [...fleet] }),
    };
  },
});

async function recordOf(
  enrollments: Enrollments,
  directory: Pick<Directory, "list">,
  peelId: string,
): Promise<Enrollment> {
  const found = await findByPeel(enrollments, peelId);
  if (found?.current !== undefined) return found.current.record;
  const all = directory.list({ state: "all", limit: Number.POSITIVE_INFINITY });
  const known = all.map(({ peel_id }) => displayPeelId(peel_id));
  const name = displayPeelId(peelId);
  throw new SvcError("not_found", `${name} has never enrolled${suggestName(name, known)}`);
}

export const listStrays = operation({
  name: "enrollments.strays",
  kind: "read",
  summary: "List the users of the bus that are refused because no valid record has their key",
  scope: { kind: "enrollments", action: "list" },
  output: v.object({
    strays: v.array(
      titled(
        "Stray",
        v.object({
          peel_id: peelIdField,
          bus_public_key: v.string(),
          refused_at: timestamp,
          creds_expires_at: timestamp,
        }),
      ),
    ),
  }),
  async run({ refused, clock }: { refused: Pick<Bucket, "entries">; clock: Pick<Clock, "now"> }) {
    const found = await readStrays(refused, clock.now());
    return {
      strays: found.map(({ peelId, busPublicKey, revokedAt, expiresAt }) => ({
        peel_id: peelId,
        bus_public_key: busPublicKey,
        refused_at: rfc3339(revokedAt),
        creds_expires_at: rfc3339(expiresAt),
      })),
    };
  },
});
