import type { KeyObject } from "node:crypto";

const curves = new Set(["prime256v1", "secp384r1", "secp521r1"]);
const rsaBits = { min: 2048, max: 8192 };

/** Whether a public key has a supported kind, is strong enough, and not so large that it costs too much to use. */
export function isSoundKey(key: KeyObject | undefined): boolean {
  const { asymmetricKeyType, asymmetricKeyDetails } = key ?? {};
  switch (asymmetricKeyType) {
    case "ed25519":
      return true;
    case "ec":
      return curves.has(asymmetricKeyDetails?.namedCurve ?? "");
    case "rsa": {
      const { modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails ?? {};
      const isUsual = publicExponent >= 65537n && publicExponent < 1n << 32n;
      return modulusLength >= rsaBits.min && modulusLength <= rsaBits.max && isUsual;
    }
    default:
      return false;
  }
}
