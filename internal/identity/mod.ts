export { formatCredentials, parseCredentials } from "./credentials.ts";
export { type CurveKey, type CurvePair, curvePairFromSeed, deriveCurveKey, newCurvePair } from "./curve.ts";
export { curvePublicKeyOf } from "./curve-public-key.ts";
export { keyFingerprint } from "./fingerprint.ts";
export { type AccountSigner, type Claims, encodeJwt, isSignedJwt, readClaims } from "./jwt.ts";
export { decodePublicKey, type KeyPair, keyPairFromSeed, newKeyPair, verifySignature } from "./nkey.ts";
export {
  assertFleetOf,
  formatOperatorFile,
  type OperatorFile,
  parseOperatorFile,
  readOperatorFile,
} from "./operator-file.ts";
export {
  createRecordMac,
  isEqualMac,
  isVouched,
  type RecordMac,
  recordMacKey,
  recordMacOf,
} from "./record-mac.ts";
export { openSealed, seal } from "./seal.ts";
export { deriveSettingsKey } from "./settings-keys.ts";
export { acceptedBy, followingSigner, type Signer } from "./signer.ts";
export { isSmallOrder } from "./small-order.ts";
export { vouched } from "./vouched.ts";
