import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type BootstrapDocument, parseDocument } from "../bootstrap/mod.ts";
import { exchange, type Verify } from "./exchange.ts";
import type { Rung } from "./ladder.ts";
import { isCertificateError, isUnknownAuthority, mismatch, TrustError } from "./mismatch.ts";
import { pinnedRoots, rootsOf, spkiPin, splitPem } from "./pin.ts";

const timeoutMs = 15_000;
const maxDocumentBytes = 256 * 1024;

/** How to verify a master. */
export interface Anchor {
  /** PEM of the only trusted CA. Absent means the system trust store. */
  ca: string | undefined;
  /** SPKI pin of the root that verified. Absent when an unknown root of the system trust store did. */
  spki: string | undefined;
}

/** Decides which masters to trust, by the one rung that applies. */
export interface Trust {
  /**
   * Runs requests to a master with the anchor that verifies it.
   *
   * @throws TrustError when the master does not match the rung; what `run` throws otherwise
   */
  use<T>(url: string, run: (anchor: Anchor) => Promise<T>): Promise<T>;
}

export interface TrustOptions {
  rung: Rung;
  /** Stores the PEM of a root that the peel trusted on first use. */
  keepAnchor(pem: string): void;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

export function createTrust({ rung, keepAnchor, clock, log, signal }: TrustOptions): Trust {
  /** Anchors established by asking a master. The others follow from the configuration alone. */
  const known = new Map<string, Anchor>();
  /** Trust on first use ends as soon as any master was verified in a stronger way. */
  let firstUse = rung.rung === 4 && rung.firstUse;
  let adopted: Anchor | undefined;

  const fetchDocument = async (url: string, verify: Verify): Promise<BootstrapDocument> => {
    const answer = await exchange({
      url: `${url}/api/v1/enroll/ca`,
      headers: { Accept: "application/json" },
      verify,
      timeoutMs,
      maxBytes: maxDocumentBytes,
      clock,
      signal,
    });
    const document = answer.status === 200 ? parseDocument(parseJson(answer.text)) : undefined;
    if (document === undefined) {
      throw new SvcError("unavailable", `${url} serves no bootstrap document (status ${answer.status})`);
    }
    return document;
  };

  /** The first candidate that verifies the master's certificate, or the reason why none does. */
  const findVerifying = async (url: string, candidates: readonly string[]): Promise<Anchor | string> => {
    let reason = "";
    for (const ca of candidates) {
      try {
        await fetchDocument(url, { ca });
        return { ca, spki: spkiPin(ca) };
      } catch (thrown) {
        if (!isCertificateError(thrown)) throw thrown;
        // "The right CA signed another name" is a better explanation than "the wrong CA signed".
        if (reason === "" || !isUnknownAuthority(thrown)) reason = describeError(thrown);
      }
    }
    return reason;
  };

  const oneOf = async (url: string, candidates: readonly string[], none: string): Promise<Anchor> => {
    const [only, ...others] = candidates;
    if (only === undefined) throw mismatch(rung, url, none);
    // The request itself verifies a single candidate.
    if (others.length === 0) return { ca: only, spki: spkiPin(only) };
    const found = await findVerifying(url, candidates);
    if (typeof found === "string") throw mismatch(rung, url, found);
    return found;
  };

  const bySystem = async (url: string): Promise<Anchor> => {
    let document: BootstrapDocument;
    try {
      document = await fetchDocument(url, { ca: undefined });
    } catch (thrown) {
      if (!firstUse || !isUnknownAuthority(thrown)) throw thrown;
      return onFirstUse(url);
    }
    firstUse = false;
    const served = await findVerifying(url, rootsOf(document.ca_bundle_pem));
    return { ca: undefined, spki: typeof served === "string" ? undefined : served.spki };
  };

  const onFirstUse = async (url: string): Promise<Anchor> => {
    const roots = rootsOf((await fetchDocument(url, "nobody")).ca_bundle_pem);
    if (roots.length === 0) throw mismatch(rung, url, "it does not serve a CA to trust");
    const found = await findVerifying(url, roots);
    if (typeof found === "string") {
      throw mismatch(rung, url, `the CA it serves does not verify its own certificate: ${found}`);
    }
    log.warn("trusting the master's CA on first use; compare with svc ca fingerprint", {
      url,
      fingerprint: found.spki,
    });
    keepAnchor(`${found.ca}\n`);
    adopted = found;
    firstUse = false;
    return found;
  };

  const establish = async (url: string): Promise<Anchor> => {
    switch (rung.rung) {
      case 1:
      case 3:
        return oneOf(url, certificatesOf(rung.ca.pem), `${rung.ca.path} does not contain a CA certificate`);
      case 2: {
        const document = await fetchDocument(url, "nobody");
        const roots = pinnedRoots(document.ca_bundle_pem, rung.pins);
        const none =
          document.ca_bundle_pem === ""
            ? "it does not serve a CA"
            : "the CA it serves does not match any pin";
        return oneOf(url, roots, none);
      }
      case 4:
        return adopted ?? bySystem(url);
    }
  };

  return {
    async use(url, run) {
      for (let again = false; ; again = true) {
        const remembered = known.get(url);
        try {
          const anchor = remembered ?? (await establish(url));
          known.set(url, anchor);
          return await run(anchor);
        } catch (thrown) {
          if (thrown instanceof TrustError || !isCertificateError(thrown)) throw thrown;
          known.delete(url);
          // The known anchor may be a root that was renewed since. Check it once more.
          if (remembered === undefined || again) throw mismatch(rung, url, describeError(thrown));
        }
      }
    },
  };
}

function certificatesOf(pem: string): string[] {
  return splitPem(pem).filter((certificate) => {
    try {
      return spkiPin(certificate) !== "";
    } catch {
      return false;
    }
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
