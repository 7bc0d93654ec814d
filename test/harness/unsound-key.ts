import { encodePublicKey } from "../../internal/identity/nkey.ts";

const two = new Uint8Array(32);
two[0] = 2;

/** A key that reads as one of a user, but is not a point of Ed25519. */
export const unsoundKey = encodePublicKey("user", two);
/** The same of X25519: a point of the twist. */
export const unsoundCurveKey = encodePublicKey("curve", two);
