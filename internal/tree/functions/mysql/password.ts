import { createHash } from "node:crypto";

/** `*` and 40 hexadecimal digits: how mysql_native_password stores a password. */
export function nativeForm(password: string): string {
  const once = createHash("sha1").update(password).digest();
  return `*${createHash("sha1").update(once).digest("hex").toUpperCase()}`;
}

export function isNativeForm(hash: string): boolean {
  return /^\*[0-9A-F]{40}$/i.test(hash);
}
