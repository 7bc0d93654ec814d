import { advertiseUrlProblem } from "../../base/bus-url.ts";
import { decode } from "../../base/msgpack.ts";
import { type BootstrapDocument, documentTag, parseDocument } from "../../identity/bootstrap/document.ts";

/** What a master found under `_cluster_info`. */
export type Stored =
  | { kind: "absent" }
  | { kind: "junk" }
  | { kind: "document"; document: BootstrapDocument };

/**
 * Reads a stored document. Junk is everything that no master writes: other bytes, a document whose pin
 * is not that of its bundle, a bus URL that no peel would take.
 *
 * @param pinOf the SPKI pin of a certificate in PEM; may throw
 */
export function readStored(value: Uint8Array | undefined, pinOf: (pem: string) => string): Stored {
  if (value === undefined) return { kind: "absent" };
  try {
    const document = parseDocument(decode(value));
    if (document !== undefined && isConsistent(document, pinOf)) return { kind: "document", document };
  } catch {
    // Not MessagePack, or no certificate in it.
  }
  return { kind: "junk" };
}

function isConsistent(document: BootstrapDocument, pinOf: (pem: string) => string): boolean {
  const { ca_bundle_pem: bundle, fingerprint, nats_urls: urls } = document;
  if (urls.some((url) => advertiseUrlProblem(url) !== undefined)) return false;
  if (fingerprint === "" || bundle === "") return fingerprint === bundle;
  return (bundle.match(/-----BEGIN /g) ?? []).length === 1 && pinOf(bundle) === fingerprint;
}

/** What to do about it. */
export type Decision = "keep" | "write" | "restore" | "wait" | "split";

/** What a master remembers between two looks. */
export interface Stance {
  /** It has something to say: at its start, and when its own document changed. */
  speaks: boolean;
  /** The document of its CA was seen published. */
  defends: boolean;
  /** That of another CA was, and the masters of that one get the time to restore it. */
  yields: boolean;
}

/**
 * Decides what a master does with `_cluster_info`:
 *
 * - What is absent or junk is written anew, first by a master whose CA was published.
 * - A document of the same CA is one of the masters': it stays, also with other URLs, unless this master
 *   speaks. The last one that spoke wins.
 * - Of two CAs the first published one stays: a master that meets another one leaves it alone, and a
 *   master whose own was published before defends that.
 */
export function decide(stored: Stored, own: BootstrapDocument, stance: Stance): Decision {
  if (stored.kind !== "document") {
    if (stance.yields) return "wait";
    return stored.kind === "absent" && !stance.defends ? "write" : "restore";
  }
  const { document } = stored;
  if (document.fingerprint !== own.fingerprint) return stance.defends ? "restore" : "split";
  return stance.speaks && documentTag(document) !== documentTag(own) ? "write" : "keep";
}
