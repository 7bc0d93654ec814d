import { timingSafeEqual } from "node:crypto";
import type { Random } from "../../base/id.ts";
import { sha256 } from "../../base/sha256.ts";

/** The cookie of a session. Browsers take this prefix only with `Secure`, `Path=/` and without `Domain`. */
export const cookieName = "__Host-svc";

const secretForm = /^[A-Za-z0-9_-]{43}$/;

/** A new secret of a session or a link: 32 random bytes as base64url. */
export function newSecret(random: Random): string {
  return Buffer.from(random(32)).toString("base64url");
}

/** The SHA-256 under which a secret is stored; `undefined` for what cannot be one. */
export function digestOfSecret(secret: string): Uint8Array | undefined {
  return secretForm.test(secret) ? Uint8Array.from(sha256(secret)) : undefined;
}

/** The token that each change needs. It follows from the secret, so it is not stored, and does not tell it. */
export function csrfOf(secret: string): string {
  return sha256(`svc/console/csrf/v1\0${secret}`).toString("base64url");
}

/** Constant time. */
export function isCsrfOf(secret: string, presented: string | null): boolean {
  return presented !== null && timingSafeEqual(sha256(csrfOf(secret)), sha256(presented));
}

/** The secret of a `Cookie` header; `undefined` without one, or with several. */
export function secretOf(cookies: string | null): string | undefined {
  const found = (cookies ?? "")
    .split(";")
    .map((one) => one.trim())
    .filter((one) => one.startsWith(`${cookieName}=`))
    .map((one) => one.slice(cookieName.length + 1));
  return found.length === 1 ? found[0] : undefined;
}

/** The header that stores a secret in a browser. @param ageS how long it lasts, seconds; 0 removes it */
export function cookieOf(secret: string, ageS: number): string {
  return `${cookieName}=${secret}; Path=/; Max-Age=${ageS}; Secure; HttpOnly; SameSite=Strict`;
}
