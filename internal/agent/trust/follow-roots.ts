import { X509Certificate } from "node:crypto";
import { decodeBase64 } from "../../base/base64.ts";
import { type BootstrapDocument, pinsOf, rotationMessage } from "../../identity/bootstrap/mod.ts";
import { verifySignature } from "../../identity/mod.ts";
import { leadTo, rootsOf, spkiPin, splitPem } from "../../identity/trust/mod.ts";

/** The roots that a peel trusts, in the order in which each followed the one before. */
export interface HeldRoots {
  /** Pins of the roots that the first of them followed. */
  ancestors: readonly string[];
  /** PEM. */
  roots: readonly string[];
}

const ancestorLine = /^# follows (sha256:[0-9a-f]{64})$/gm;

/** Reads a file of roots; without any for a file that is damaged. */
export function parseHeldRoots(text: string): HeldRoots {
  return {
    ancestors: [...text.matchAll(ancestorLine)].flatMap(([, pin]) => pin ?? []),
    roots: splitPem(text).filter(isCertificate),
  };
}

/** Readers of PEM skip the lines that name the ancestors. */
export function formatHeldRoots({ ancestors, roots }: HeldRoots): string {
  const lines = ancestors.map((pin) => `# follows ${pin}`);
  return `${[...lines, ...roots.map((pem) => pem.trim())].join("\n")}\n`;
}

/** Whether these roots are from a rotation, and not from the first contact. */
export function areFollowed({ ancestors, roots }: HeldRoots): boolean {
  return ancestors.length > 0 || roots.length > 1;
}

/**
 * The roots that count for a peel whose operator configured these pins: what followed the first of them. Trust
 * follows forward only, so an operator who configures the pin of a newer root ends the trust in those before.
 *
 * @param configured `undefined` where the operator leaves the choice to the peel
 */
export function countingRoots(held: HeldRoots, configured: readonly string[] | undefined): readonly string[] {
  if (configured === undefined) return held.roots;
  if (!areFollowed(held)) return [];
  const line = [...held.ancestors, ...held.roots.map(spkiPin)];
  const first = line.findIndex((pin) => configured.includes(pin));
  if (first < 0) return [];
  return held.roots.slice(Math.max(0, first - held.ancestors.length));
}

/** What a verified document means for the roots that a peel trusts. */
export type RootDecision =
  | { kind: "keep" }
  | { kind: "replace"; held: HeldRoots }
  /** It is not followed. `unknown-key` can change when the peel learns newer command keys. */
  | { kind: "refuse"; reason: "unknown-key" | "malformed" };

/**
 * Decides which roots a peel trusts from now on.
 *
 * - A rotation that a known command key signed, from a root that the peel trusts to another one, adds that.
 * - A document with one root that the peel trusts drops the others: those before when the rotation was finished,
 *   that after when it was aborted.
 * - A document whose root the peel does not trust yet replaces all of them when one of them signed the key of that
 *   root: the peel was off during a whole rotation.
 *
 * @param held what the peel trusts; its own roots verified the connection over which the document came
 * @param knownKeys the command keys that the peel knew before this document
 * @param now milliseconds since the Unix epoch
 */
export function followRoots(
  held: HeldRoots,
  document: BootstrapDocument,
  knownKeys: readonly string[],
  now: number,
): RootDecision {
  const pins = pinsOf(document);
  const served = new Map(rootsOf(document.ca_bundle_pem).map((pem) => [spkiPin(pem), pem.trim()]));
  const found = pins.map((pin) => served.get(pin));
  const [current, next] = pins;
  const [currentPem, nextPem] = found;
  if (current === undefined || currentPem === undefined || served.size !== pins.length || pins.length > 2) {
    return pins.length === 0 ? { kind: "keep" } : { kind: "refuse", reason: "malformed" };
  }
  const own = held.roots.map(spkiPin);
  const at = own.indexOf(current);
  if (at < 0) {
    // Otherwise it comes from a master that has not noticed the end of the rotation, or from another fleet.
    if (!leadsToRoot(held, document, now)) return { kind: "keep" };
    const followed = { ancestors: [...held.ancestors, ...own], roots: [currentPem] };
    const further = followRoots(followed, document, knownKeys, now);
    return further.kind === "replace" ? further : { kind: "replace", held: followed };
  }
  const ancestors = [...held.ancestors, ...own.slice(0, at)];
  if (next === undefined) return replaceBy(held, { ancestors, roots: [currentPem] });
  if (nextPem === undefined || next === current) return { kind: "refuse", reason: "malformed" };

  const { trust_rotation: rotation } = document;
  if (
    rotation === undefined ||
    rotation.next_fingerprint !== next ||
    (rotation.phase !== "start" && rotation.phase !== "activate")
  ) {
    return { kind: "refuse", reason: "malformed" };
  }
  if (!knownKeys.includes(rotation.key)) return { kind: "refuse", reason: "unknown-key" };
  const signature = decodeBase64(rotation.signature);
  const message = rotationMessage(rotation.phase, current, next);
  if (signature === undefined || !verifySignature("user", rotation.key, message, signature)) {
    return { kind: "refuse", reason: "malformed" };
  }
  return replaceBy(held, { ancestors, roots: [currentPem, nextPem] });
}

/** Whether the roots of a peel lead to a root that it does not trust yet, by the certificates of this document. */
export function leadsToRoot(held: HeldRoots, document: BootstrapDocument, now: number): boolean {
  const { ca_cross_pem: crossPem, ca_bundle_pem: bundle } = document;
  const [current] = pinsOf(document);
  const root = rootsOf(bundle).find((pem) => spkiPin(pem) === current);
  if (crossPem === undefined || current === undefined || root === undefined) return false;
  // A root that this one followed never comes back.
  if (held.ancestors.includes(current)) return false;
  return leadTo(root, { trusted: held.roots, crossPem, now }).kind === "found";
}

function replaceBy(held: HeldRoots, next: HeldRoots): RootDecision {
  return formatHeldRoots(held) === formatHeldRoots(next) ? { kind: "keep" } : { kind: "replace", held: next };
}

/**
 * The roots of a file that verifies the bus, after the peel's own changed; `undefined` when the file stays as it is.
 * A file without any of these roots belongs to another CA.
 */
export function followInFile(text: string, held: HeldRoots): string | undefined {
  const own = new Set([...held.ancestors, ...held.roots.map(spkiPin)]);
  const found = splitPem(text);
  const foreign = found.filter((pem) => !isCertificate(pem) || !own.has(spkiPin(pem)));
  if (foreign.length === found.length) return undefined;
  const wanted = [...foreign, ...held.roots].map((pem) => pem.trim());
  const present = found.map((pem) => pem.trim());
  return wanted.join() === present.join() ? undefined : `${wanted.join("\n")}\n`;
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
