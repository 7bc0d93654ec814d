import { decode } from "../../base/msgpack.ts";
import { advertiseUrlProblem } from "../../base/names/bus-url.ts";
import { type BootstrapDocument, documentTag, parseDocument, pinsOf } from "../../identity/bootstrap/mod.ts";

/** What a master found at `_cluster_info`. */
export type Stored =
  | { kind: "absent" }
  | { kind: "junk" }
  | { kind: "document"; document: BootstrapDocument };

/**
 * Reads a stored document. Anything that no master writes is junk: malformed bytes, a document whose pin
 * does not match its bundle, or a bus URL that peels reject.
 *
 * @param pinOf the SPKI pin of a certificate in PEM; may throw
 */
export function readStored(value: Uint8Array | undefined, pinOf: (pem: string) => string): Stored {
  if (value === undefined) return { kind: "absent" };
  try {
    const document = parseDocument(decode(value));
    if (document !== undefined && isConsistent(document, pinOf)) return { kind: "document", document };
  } catch {
    // Not MessagePack, or without a valid certificate.
  }
  return { kind: "junk" };
}

function isConsistent(document: BootstrapDocument, pinOf: (pem: string) => string): boolean {
  const { ca_bundle_pem: bundle, fingerprint, nats_urls, sites = {} } = document;
  const urls = [...nats_urls, ...Object.values(sites).flat()];
  if (urls.some((url) => advertiseUrlProblem(url) !== undefined)) return false;
  if (fingerprint === "" || bundle === "") return fingerprint === bundle;
  const certificates = bundle.match(/-----BEGIN [\s\S]+?-----END [^-]+-----/g) ?? [];
  const pins = pinsOf(document);
  if (pins[0] !== fingerprint || certificates.length !== pins.length || pins.length > 2) return false;
  return certificates.every((pem, at) => pinOf(pem) === pins[at]);
}

/** Whether two documents come from one CA: masters of one fleet can be in neighboring phases of a rotation. */
export function isSameAuthority(one: BootstrapDocument, other: BootstrapDocument): boolean {
  if (one.fingerprint === other.fingerprint) return true;
  return pinsOf(one).includes(other.fingerprint) || pinsOf(other).includes(one.fingerprint);
}

/** The action to take. */
export type Decision = "keep" | "write" | "restore" | "wait" | "split";

/** What a master remembers between two checks. */
export interface Stance {
  /** This master has a document to publish: at its start, and when its document changed. */
  speaks: boolean;
  /** The document of its own CA was published before. */
  defends: boolean;
  /** The document of another CA was published before, and its masters get time to restore it. */
  yields: boolean;
  /**
   * The roots in the document of this master changed: equal content is written again, once. Another master that
   * was first sent to the peels, and some of them then asked this one, which had not noticed the change yet.
   */
  repeats?: boolean;
}

/**
 * Decides what a master does with `_cluster_info`:
 *
 * - An absent or junk document is rewritten, first by a master whose CA was published.
 * - A document of the same CA belongs to the masters. It stays, even with other URLs, unless this master has
 *   a document to publish. The last writer wins.
 * - Of two CAs, the first published one stays. A master does not overwrite the document of another CA, and
 *   restores the document of its own CA if that was published before.
 */
export function decide(stored: Stored, own: BootstrapDocument, stance: Stance): Decision {
  if (stored.kind !== "document") {
    if (stance.yields) return "wait";
    return stored.kind === "absent" && !stance.defends ? "write" : "restore";
  }
  const { document } = stored;
  if (!isSameAuthority(document, own)) return stance.defends ? "restore" : "split";
  const isNews = stance.repeats === true || documentTag(document) !== documentTag(own);
  return stance.speaks && isNews ? "write" : "keep";
}
