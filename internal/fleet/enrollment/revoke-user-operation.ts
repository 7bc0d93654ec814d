import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { described } from "../../base/schema.ts";
import { publicKeyField } from "../../wire/public-keys.ts";
import { operation, operatorOf } from "../operation/mod.ts";
import { peelIdField, reasonField } from "./joining/mod.ts";
import { type RevokeUserDeps, revokeUser } from "./revocation/mod.ts";

export const revokeUserOfBus = operation({
  name: "enrollments.revoke-user",
  kind: "decide",
  summary: "Revoke a peel by its name, or a key of the bus, also without a record",
  input: v.strictObject({
    peel: v.optional(described(peelIdField, "Encoded id of the peel; or `key`")),
    key: v.optional(described(publicKeyField, "Key with which it connects; or `peel`")),
    reason: v.optional(reasonField),
  }),
  output: v.object({
    revoked: v.array(
      v.object({
        peel_id: described(v.string(), "Empty when nothing is known of the key"),
        enrollment_id: v.exactOptional(described(v.string(), "Absent when no record has the key")),
        bus_public_key: v.exactOptional(v.string()),
      }),
    ),
  }),
  touches: ({ peel }) => (peel === undefined ? { fleet: true } : { peel }),
  async run(deps: RevokeUserDeps, { peel, key, reason }, call) {
    const operator = operatorOf(call);
    const who =
      peel !== undefined && key === undefined
        ? { peelId: peel }
        : key !== undefined && peel === undefined
          ? { key }
          : undefined;
    if (who === undefined) throw new SvcError("bad_request", "peel or key is required, and not both");
    const revoked = await revokeUser(deps, who, operator, reason);
    for (const { peelId, enrollmentId, busPublicKey } of revoked) {
      call.log.info("bus user revoked", {
        peel_id: peelId,
        enrollment_id: enrollmentId,
        bus_public_key: busPublicKey,
        operator,
        reason,
      });
    }
    return {
      revoked: revoked.map(({ peelId, enrollmentId, busPublicKey }) => ({
        peel_id: peelId,
        ...defined({ enrollment_id: enrollmentId, bus_public_key: busPublicKey }),
      })),
    };
  },
});
