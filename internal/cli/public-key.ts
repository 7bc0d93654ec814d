import { SvcError } from "../base/errors.ts";
import { decodePublicKey } from "../identity/mod.ts";

/** Checks a public key that was typed. @throws SvcError `usage` */
export function assertPublicKey(text: string): string {
  if (decodePublicKey("user", text) !== undefined) return text;
  throw new SvcError("usage", `${JSON.stringify(text.slice(0, 60))} is not a public key, U…: copy it whole`);
}
