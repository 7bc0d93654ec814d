import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { sha256Hex } from "../../base/sha256.ts";

/** A statement of the masters that another root follows the current one. */
export type TrustRotation = {
  /** `start` or `activate`. */
  phase: string;
  /** SPKI pin. */
  next_fingerprint: string;
  /** Of a command key over `rotationMessage`, standard base64. */
  signature: string;
  /** The public key that signed. */
  key: string;
};

/** The public document of a master: its CA root and the bus URLs (specification, "Bootstrap document"). */
export interface BootstrapDocument {
  v: number;
  /** PEM of the CA root; while it is rotated, of the next root as well. Empty when the CA is external. */
  ca_bundle_pem: string;
  /** SPKI pin of the root; empty when the CA is external. */
  fingerprint: string;
  /** While a root is rotated: the pins of the current and of the next root. */
  fingerprints?: string[];
  trust_rotation?: TrustRotation;
  /** After a rotation: PEM of certificates that lead to the root from those before it. None of them is a root. */
  ca_cross_pem?: string;
  nats_urls: string[];
  /** The bus URLs of sites, by name: those of a peel of the site come before all others. */
  sites?: Record<string, string[]>;
  /** RFC 3339; not part of the document's identity. */
  issued_at: string;
  /** Public keys that sign commands. */
  command_keys: string[];
  /** Public keys that may sign a succession. */
  recovery_keys: string[];
}

const schema = v.object({
  v: v.number(),
  ca_bundle_pem: v.optional(v.string(), ""),
  fingerprint: v.optional(v.string(), ""),
  nats_urls: v.optional(v.array(v.string()), []),
  issued_at: v.optional(v.string(), ""),
  command_keys: v.optional(v.array(v.string()), []),
  recovery_keys: v.optional(v.array(v.string()), []),
  // A field that cannot be read must not hide the rest.
  ca_cross_pem: v.exactOptional(v.fallback(v.optional(v.string()), undefined)),
  sites: v.exactOptional(v.fallback(v.optional(v.record(v.string(), v.array(v.string()))), undefined)),
  fingerprints: v.exactOptional(v.fallback(v.optional(v.array(v.string())), undefined)),
  trust_rotation: v.exactOptional(
    v.fallback(
      v.optional(
        v.object({ phase: v.string(), next_fingerprint: v.string(), signature: v.string(), key: v.string() }),
      ),
      undefined,
    ),
  ),
});

export function createDocument(
  content: Omit<BootstrapDocument, "v" | "issued_at" | "recovery_keys"> &
    Partial<Pick<BootstrapDocument, "recovery_keys">>,
  now: number,
): BootstrapDocument {
  return { v: 1, recovery_keys: [], ...content, issued_at: rfc3339(now) };
}

/** Reads an untrusted document. Ignores unknown fields and tolerates absent ones; `undefined` if malformed. */
export function parseDocument(value: unknown): BootstrapDocument | undefined {
  const parsed = v.safeParse(schema, value);
  if (!parsed.success) return undefined;
  const { fingerprints, trust_rotation, ca_cross_pem, sites, ...document } = parsed.output;
  return { ...document, ...defined({ fingerprints, trust_rotation, ca_cross_pem, sites }) };
}

/** The bytes that a command key signs, so that a peel trusts the next root as well. */
export function rotationMessage(phase: string, current: string, next: string): Uint8Array {
  return Buffer.from(["svc/ca-rotation/v1", phase, current, next].join("\0"), "utf8");
}

/** The pins of all roots that a document names: two while a root is rotated. */
export function pinsOf({ fingerprint, fingerprints }: BootstrapDocument): readonly string[] {
  if (fingerprints !== undefined && fingerprints.length > 0) return fingerprints;
  return fingerprint === "" ? [] : [fingerprint];
}

/** The pin of the root that masters issue certificates from; `undefined` when the CA is external. */
export function issuingPin(document: BootstrapDocument): string | undefined {
  const [current, next] = pinsOf(document);
  return document.trust_rotation?.phase === "activate" && next !== undefined ? next : current;
}

/**
 * The identity of a document's content without `issued_at`, as an entity tag (RFC 9110 section 8.8.3). A
 * document with an equal tag need not be written or fetched again.
 */
export function documentTag({ issued_at: _, ...content }: BootstrapDocument): string {
  const fields = Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1));
  return `"${sha256Hex(JSON.stringify(fields)).slice(0, 32)}"`;
}

/**
 * The bus URLs of a document for a peel: those of its site first. A document without other URLs has none for anybody,
 * because discovery is off.
 *
 * @param site name of the site of the peel, if it has one
 */
export function urlsFor(
  { nats_urls: urls, sites = {} }: Pick<BootstrapDocument, "nats_urls" | "sites">,
  site: string | undefined,
): { urls: string[]; ofSite: string[] } {
  const ofSite =
    site !== undefined && urls.length > 0 && Object.hasOwn(sites, site) ? (sites[site] ?? []) : [];
  return { urls: [...new Set([...ofSite, ...urls])], ofSite };
}
