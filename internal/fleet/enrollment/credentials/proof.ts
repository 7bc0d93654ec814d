import { decodeBase64Url } from "../../../base/base64.ts";

/**
 * Reads the `Authorization` header of a peel: `Nkey <public key>:<base64url signature>`.
 *
 * @returns `undefined` when it has another form
 */
export function readProof(
  authorization: string | undefined,
): { publicKey: string; signature: Uint8Array } | undefined {
  const [, publicKey, text] = /^Nkey ([A-Z2-7]{56}):([A-Za-z0-9_=-]{1,128})$/.exec(authorization ?? "") ?? [];
  const signature = decodeBase64Url(text ?? "");
  return publicKey === undefined || signature === undefined ? undefined : { publicKey, signature };
}
