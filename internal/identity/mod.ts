export { formatCredentials, parseCredentials } from "./credentials.ts";
export { type CurveKey, deriveCurveKey } from "./curve.ts";
export { keyFingerprint } from "./fingerprint.ts";
export { type Claims, encodeJwt, readClaims } from "./jwt.ts";
export { decodePublicKey, type KeyPair, keyPairFromSeed, newKeyPair, verifySignature } from "./nkey.ts";
export { createRecordMac, isEqualMac, type RecordMac } from "./record-mac.ts";
export { openSealed, seal } from "./seal.ts";
