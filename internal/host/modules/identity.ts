import { abortable } from "../../base/abortable.ts";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { keyFingerprint } from "../../identity/mod.ts";
import { define } from "./define.ts";
import type { CallContext, ModuleFunction } from "./function.ts";
import type { IdentityService, IdentityState } from "./identity-service.ts";

/** What a peel is known by: its bus credentials and its keys. */
export const identityFunctions: readonly ModuleFunction[] = [
  define({
    name: "identity.renew",
    doc: "Renews the bus credentials of the peel now. A peel renews them by itself at two thirds of their lifetime.",
    args: {},
    run: (_, context) => change(context, (identity) => identity.renew()),
  }),
  define({
    name: "identity.rekey",
    doc: "Replaces the keys of the peel, with which it signs and to which its settings are sealed.",
    args: {},
    run: (_, context) => change(context, (identity) => identity.rekey()),
  }),
];

async function change(
  { identity, signal }: CallContext,
  act: (identity: IdentityService) => Promise<IdentityState>,
): Promise<Plain> {
  if (identity === undefined) {
    throw new SvcError("unavailable", "only a running peel has an identity to change: send this as a job");
  }
  // What began is completed, also when the job ends before: half a change would only be repeated.
  const { publicKey, expiresAt } = await abortable(act(identity), signal);
  return {
    public_key: publicKey,
    fingerprint: keyFingerprint(publicKey),
    expires_at: expiresAt === undefined ? null : rfc3339(expiresAt),
  };
}
