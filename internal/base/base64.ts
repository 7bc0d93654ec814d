const standard = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const url = /^[A-Za-z0-9_-]*={0,2}$/;

/** Decodes standard padded base64 (RFC 4648 section 4); anything else is `undefined`. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!standard.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  // A last character with stray bits decodes, but no encoder writes it.
  return bytes.toString("base64") === text ? bytes : undefined;
}

/** Decodes base64url (RFC 4648 section 5), padded or not; anything else is `undefined`. */
export function decodeBase64Url(text: string): Uint8Array | undefined {
  if (!url.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text.replace(/=+$/, "") ? bytes : undefined;
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** Encodes as base64url without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
