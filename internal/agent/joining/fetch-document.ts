import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  type BootstrapCache,
  checkDiscovered,
  issuingPin,
  parseDocument,
  pinsOf,
  urlsFor,
} from "../../identity/bootstrap/mod.ts";
import type { CommandKeys, RecoveryKeys, Roots } from "../trust/mod.ts";
import type { MasterClient } from "./master-client.ts";

export interface FetchDocumentOptions {
  masters: Pick<MasterClient, "request">;
  /** Maximum number of failed requests. */
  attempts: number;
  /** Where the bus URLs of the document are kept, and for which site; absent for callers that need none. */
  found?: { cache: Pick<BootstrapCache, "save">; site(): string | undefined };
  commandKeys: Pick<CommandKeys, "current" | "replace">;
  recoveryKeys?: Pick<RecoveryKeys, "learn">;
  roots: Pick<Roots, "take">;
  log: Log;
}

/** What a document brought. */
export interface FetchedDocument {
  /** Absent when the list is empty or invalid. */
  urls?: readonly string[];
  /** Pins of the roots that it names. */
  pins: readonly string[];
  /** Pin of the root that masters issue from; absent when the CA is external. */
  issuing?: string;
  /** Whether another request may bring more: its rotation is signed by a command key that came with it. */
  again: boolean;
}

/**
 * Fetches the bootstrap document over verified TLS, follows its roots, stores its command keys, and caches its bus
 * URLs.
 *
 * @throws SvcError `unavailable` when no master serves the document; TrustError
 */
export async function fetchDocument(options: FetchDocumentOptions): Promise<FetchedDocument> {
  const { masters, attempts, found, commandKeys, recoveryKeys, roots, log } = options;
  const { status, body, verifiedBy } = await masters.request("GET", "/api/v1/enroll/ca", { attempts });
  const document = status === 200 ? parseDocument(body) : undefined;
  if (document === undefined) {
    throw new SvcError("unavailable", `the master does not serve a bootstrap document (status ${status})`);
  }
  // By the keys that were known before: an attacker who only answers in place of a master must not name the next root.
  const again = roots.take(document, verifiedBy, commandKeys.current);
  const reported = { pins: pinsOf(document), again, ...defined({ issuing: issuingPin(document) }) };
  commandKeys.replace(document.command_keys);
  recoveryKeys?.learn(document.recovery_keys);
  if (found === undefined) return reported;
  try {
    const listed = urlsFor(document, found.site());
    const urls = checkDiscovered("nats_urls of the bootstrap document", listed.urls);
    if (urls !== undefined) found.cache.save(urls, listed.ofSite);
    return { ...reported, ...defined({ urls }) };
  } catch (thrown) {
    log.warn("bus URLs refused", { reason: describeError(thrown) });
    return reported;
  }
}
