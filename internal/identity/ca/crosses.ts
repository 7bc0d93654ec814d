import { X509Certificate } from "node:crypto";
import { attempt } from "../../base/errors.ts";
import { rootsOf, spkiPin } from "../trust/mod.ts";

/** How many rotations may pass while a host is off. Everyone who fetches the bootstrap document gets all of these. */
const max = 4;

/**
 * Finds the certificates that lead to a root from those before it.
 *
 * @param retired PEM of what an authority had before: roots, intermediates, and what crosses between roots
 * @returns the one to this root first
 */
export function crossesTo({ pin }: { pin: string }, retired: readonly string[]): string[] {
  const readable = retired.filter(isCertificate);
  const roots = rootsOf(readable.join("\n"));
  const found: string[] = [];
  let target = pin;
  while (found.length < max) {
    const next = readable
      .filter((pem) => !roots.includes(pem) && spkiPin(pem) === target)
      .map((pem) => ({ pem, issuer: roots.find((root) => isIssued(pem, root)) }))
      .find(({ issuer }) => issuer !== undefined);
    if (next?.issuer === undefined) break;
    found.push(next.pem);
    target = spkiPin(next.issuer);
  }
  return found;
}

function isIssued(pem: string, root: string): boolean {
  return new X509Certificate(pem).verify(new X509Certificate(root).publicKey);
}

function isCertificate(pem: string): boolean {
  return attempt(() => new X509Certificate(pem).ca, false);
}
