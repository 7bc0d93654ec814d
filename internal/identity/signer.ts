import type { KeyPair } from "./nkey.ts";

/**
 * The command key in use. While the key is replaced, another one takes its place here, and what the keys next to it
 * signed still counts.
 */
export interface Signer extends KeyPair {
  /** All keys whose signatures count, this one included. */
  readonly accepted: readonly KeyPair[];
}

/** The keys whose signatures count in addition to those of this one. A plain key pair stands alone. */
export function acceptedBy(signer: KeyPair | Signer): readonly KeyPair[] {
  return "accepted" in signer ? signer.accepted : [signer];
}

/**
 * A signer that follows a choice which may change at any time.
 *
 * @param chosen the key that signs now
 * @param accepted all keys whose signatures count now
 */
export function followingSigner(chosen: () => KeyPair, accepted: () => readonly KeyPair[]): Signer {
  return {
    get role() {
      return chosen().role;
    },
    get publicKey() {
      return chosen().publicKey;
    },
    get seed() {
      return chosen().seed;
    },
    sign: (message) => chosen().sign(message),
    get accepted() {
      return accepted();
    },
  };
}
