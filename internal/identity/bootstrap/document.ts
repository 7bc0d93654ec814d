import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { sha256Hex } from "../../base/sha256.ts";

/** The public document of a master: its CA root and the bus URLs (specification, "Bootstrap document"). */
export interface BootstrapDocument {
  v: number;
  /** PEM of the CA root; empty when the CA is external. */
  ca_bundle_pem: string;
  /** SPKI pin of the root; empty when the CA is external. */
  fingerprint: string;
  nats_urls: string[];
  /** RFC 3339; not part of the document's identity. */
  issued_at: string;
  /** Public keys that sign commands. */
  command_keys: string[];
}

const schema = v.object({
  v: v.number(),
  ca_bundle_pem: v.optional(v.string(), ""),
  fingerprint: v.optional(v.string(), ""),
  nats_urls: v.optional(v.array(v.string()), []),
  issued_at: v.optional(v.string(), ""),
  command_keys: v.optional(v.array(v.string()), []),
});

export function createDocument(
  content: Pick<BootstrapDocument, "ca_bundle_pem" | "fingerprint" | "nats_urls" | "command_keys">,
  now: number,
): BootstrapDocument {
  return { v: 1, ...content, issued_at: rfc3339(now) };
}

/** Reads an untrusted document. Ignores unknown fields and tolerates absent ones; `undefined` if malformed. */
export function parseDocument(value: unknown): BootstrapDocument | undefined {
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : undefined;
}

/**
 * The identity of a document's content without `issued_at`, as an entity tag (RFC 9110 section 8.8.3). A
 * document with an equal tag need not be written or fetched again.
 */
export function documentTag({ issued_at: _, ...content }: BootstrapDocument): string {
  const fields = Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1));
  return `"${sha256Hex(JSON.stringify(fields)).slice(0, 32)}"`;
}
