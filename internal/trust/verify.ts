import { describeError, SvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { parseDocument } from "../bootstrap/document.ts";
import type { Rung } from "./ladder.ts";
import { findPinned, spkiPin, splitPem } from "./pin.ts";

const requestTimeoutMs = 10_000;
const maxDocumentBytes = 256 * 1024;

/** How to verify a master's certificate from now on. */
export interface Anchor {
  /** PEM of the only CA that verifies; absent means the system trust store. */
  ca?: string;
  /** SPKI pin of that CA, which the peel attests; absent for the system trust store. */
  spki?: string;
  /** Trusted on first use just now, and to be persisted. */
  firstUse: boolean;
}

/** A TLS failure that is about who the other side is, not about the network. */
export class TrustError extends SvcError {
  constructor(message: string) {
    super("forbidden", message);
  }
}

/**
 * Turns a rung into an anchor, asking the master for its CA where the rung needs it.
 *
 * @param url base URL of a master
 * @throws TrustError when the served CA does not match the pins; other errors are the network's
 */
export async function establishAnchor(rung: Rung, url: string, log: Log): Promise<Anchor> {
  switch (rung.rung) {
    case 1:
    case 3: {
      const [first] = splitPem(rung.ca);
      if (first === undefined) throw new TrustError("the CA file holds no certificate");
      return { ca: rung.ca, spki: spkiPin(first), firstUse: false };
    }
    case 2: {
      const bundle = await fetchBundle(url);
      const ca = findPinned(bundle, rung.pins);
      if (ca === undefined) {
        throw new TrustError(
          `the CA that ${url} serves matches none of enroll_ca_pin: compare with svc ca fingerprint`,
        );
      }
      return { ca, spki: spkiPin(ca), firstUse: false };
    }
    case 4: {
      const unknown = await unknownAuthority(url);
      if (!unknown) return { firstUse: false };
      if (!rung.firstUse) {
        throw new TrustError(
          `${url} is signed by an unknown authority: give enroll_ca or enroll_ca_pin, as trust on first use is off here`,
        );
      }
      const [ca] = splitPem(await fetchBundle(url));
      if (ca === undefined)
        throw new TrustError(`${url} serves no CA to trust: give enroll_ca or enroll_ca_pin`);
      const spki = spkiPin(ca);
      log.warn("trusting the master's CA on first use; compare with svc ca fingerprint", {
        fingerprint: spki,
      });
      return { ca, spki, firstUse: true };
    }
  }
}

/** TLS options of `fetch` for an anchor: TLS 1.3, always verified, whatever the environment says. */
export function tlsOptions(anchor: Anchor): BunFetchRequestInitTLS {
  return {
    rejectUnauthorized: true,
    minVersion: 772,
    ...(anchor.ca === undefined ? {} : { ca: anchor.ca }),
  } as BunFetchRequestInitTLS;
}

const authorityCodes = new Set([
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_UNTRUSTED",
]);
const certificateCodes = new Set([
  ...authorityCodes,
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_SIGNATURE_FAILURE",
  "INVALID_CA",
]);

/** Whether a failed request failed because the certificate did not verify. */
export function isCertificateError(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && certificateCodes.has(String(thrown.code));
}

async function unknownAuthority(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/api/v1/enroll/ca`, {
      tls: tlsOptions({ firstUse: false }),
      signal: AbortSignal.timeout(requestTimeoutMs),
      redirect: "error",
    });
    await response.body?.cancel();
    return false;
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && authorityCodes.has(String(thrown.code))) return true;
    throw thrown;
  }
}

/** Reads the served CA without verifying who serves it: only a pin, or first use, may make it trusted. */
async function fetchBundle(url: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/enroll/ca`, {
    tls: { rejectUnauthorized: false, minVersion: 772 } as BunFetchRequestInitTLS,
    signal: AbortSignal.timeout(requestTimeoutMs),
    redirect: "error",
  });
  const text = await response.text();
  if (!response.ok || text.length > maxDocumentBytes) {
    throw new SvcError(
      "unavailable",
      `${url} did not serve its bootstrap document (status ${response.status})`,
    );
  }
  try {
    return parseDocument(JSON.parse(text))?.ca_bundle_pem ?? "";
  } catch (cause) {
    throw new SvcError("unavailable", `${url} served no bootstrap document: ${describeError(cause)}`);
  }
}
