import type { Clock } from "../../base/clock.ts";
import { attempt, describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type BootstrapDocument, parseDocument } from "../bootstrap/mod.ts";
import { exchange, type Verify } from "./exchange.ts";
import type { Rung } from "./ladder.ts";
import { leadTo } from "./lead.ts";
import { isCertificateError, isUnknownAuthority, mismatch, servesNoCa, TrustError } from "./mismatch.ts";
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
  /**
   * PEM of the roots that followed those of the rung in a rotation; they count in its place. Empty where the rung
   * decides alone.
   */
  followed?: () => readonly string[];
  /**
   * Of a peel that is enrolled: PEM of the roots that it trusts, and what to do when nothing leads from them to the
   * root that masters have now. Absent where a mismatch is final.
   */
  across?: { trusted: () => readonly string[]; remedy: string } | undefined;
  /** Stores the PEM of a root that the peel trusted on first use. */
  storeAnchor(pem: string): void;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** Which master is contacted, and what is known about masters so far. */
interface Judging extends TrustOptions {
  /** Trust on first use ends as soon as any master was verified in a stronger way. */
  firstUse: boolean;
  /** The root that was trusted on first use. */
  adopted: Anchor | undefined;
}

export function createTrust(options: TrustOptions): Trust {
  const { rung } = options;
  const judging: Judging = { ...options, firstUse: rung.rung === 4 && rung.firstUse, adopted: undefined };
  /** Anchors established through a master. The others follow from the configuration alone. */
  const known = new Map<string, Anchor>();
  return {
    async use(url, run) {
      let crossed = false;
      for (let again = false; ; again = true) {
        const remembered = known.get(url);
        try {
          const anchor = remembered ?? (await establish(judging, url));
          known.set(url, anchor);
          return await run(anchor);
        } catch (thrown) {
          const isFinal = thrown instanceof TrustError;
          if (!isFinal && !isCertificateError(thrown)) throw thrown;
          known.delete(url);
          // The known anchor may be a root that was renewed since. Check it once more.
          if (!isFinal && remembered !== undefined && !again) continue;
          const failed = isFinal ? thrown : mismatch(rung, url, thrown);
          if (crossed || !(isFinal || isUnknownAuthority(thrown))) throw failed;
          crossed = true;
          known.set(url, await acrossRotations(judging, url, failed));
        }
      }
    },
  };
}

/** The anchor of a master, by the rung that applies. */
async function establish(judging: Judging, url: string): Promise<Anchor> {
  const { rung, followed, adopted } = judging;
  const roots = followed?.() ?? [];
  if (roots.length > 0) return oneOf(judging, url, roots, "");
  switch (rung.rung) {
    case 1:
    case 3: {
      const none = `${rung.ca.path} does not contain a CA certificate`;
      return oneOf(judging, url, certificatesOf(rung.ca.pem), none);
    }
    case 2: {
      const document = await fetchDocument(judging, url, "nobody");
      const pinned = pinnedRoots(document.ca_bundle_pem, rung.pins);
      const none = document.ca_bundle_pem === "" ? servesNoCa : "the CA it serves does not match any pin";
      return oneOf(judging, url, pinned, none);
    }
    case 4:
      return adopted ?? bySystem(judging, url);
  }
}

async function oneOf(
  judging: Judging,
  url: string,
  candidates: readonly string[],
  none: string,
): Promise<Anchor> {
  const [only, ...others] = candidates;
  if (only === undefined) throw mismatch(judging.rung, url, none);
  // The request itself verifies a single candidate.
  if (others.length === 0) return { ca: only, spki: spkiPin(only) };
  const found = await findVerifying(judging, url, candidates);
  if (typeof found === "string") throw mismatch(judging.rung, url, found);
  return found;
}

/** The first candidate that verifies the master's certificate, or the reason why none does. */
async function findVerifying(
  judging: Judging,
  url: string,
  candidates: readonly string[],
): Promise<Anchor | string> {
  let reason = "";
  for (const ca of candidates) {
    try {
      await fetchDocument(judging, url, { ca });
      return { ca, spki: spkiPin(ca) };
    } catch (thrown) {
      if (!isCertificateError(thrown)) throw thrown;
      // "The right CA signed another name" is a better explanation than "the wrong CA signed".
      if (reason === "" || !isUnknownAuthority(thrown)) reason = describeError(thrown);
    }
  }
  return reason;
}

async function bySystem(judging: Judging, url: string): Promise<Anchor> {
  let document: BootstrapDocument;
  try {
    document = await fetchDocument(judging, url, { ca: undefined });
  } catch (thrown) {
    if (!judging.firstUse || !isUnknownAuthority(thrown)) throw thrown;
    return onFirstUse(judging, url);
  }
  judging.firstUse = false;
  const served = await findVerifying(judging, url, rootsOf(document.ca_bundle_pem));
  return { ca: undefined, spki: typeof served === "string" ? undefined : served.spki };
}

async function onFirstUse(judging: Judging, url: string): Promise<Anchor> {
  const { rung, storeAnchor, log } = judging;
  const roots = rootsOf((await fetchDocument(judging, url, "nobody")).ca_bundle_pem);
  if (roots.length === 0) throw mismatch(rung, url, "it does not serve a CA to trust");
  const found = await findVerifying(judging, url, roots);
  if (typeof found === "string") {
    throw mismatch(rung, url, `the CA it serves does not verify its own certificate: ${found}`);
  }
  log.warn("trusting the master's CA on first use; compare with svc ca fingerprint", {
    url,
    fingerprint: found.spki,
  });
  storeAnchor(`${found.ca}\n`);
  judging.adopted = found;
  judging.firstUse = false;
  return found;
}

/**
 * The root that masters have after a rotation that this peel slept through. It follows those that the peel trusts
 * when one of them signed its key, which the unverified document proves as well as any other.
 *
 * @throws TrustError `failed`, with what to do when nothing leads there
 */
async function acrossRotations(judging: Judging, url: string, failed: TrustError): Promise<Anchor> {
  const { across, clock } = judging;
  const trusted = across?.trusted() ?? [];
  if (across === undefined || trusted.length === 0) throw failed;
  const document = await fetchDocument(judging, url, "nobody").catch(() => undefined);
  const served = rootsOf(document?.ca_bundle_pem ?? "").slice(0, 2);
  const crossPem = document?.ca_cross_pem ?? "";
  const leads = served.map((root) => ({
    root,
    lead: leadTo(root, { trusted, crossPem, now: clock.now() }),
  }));
  const found = leads.filter(({ lead }) => lead.kind === "found").map(({ root }) => root);
  if (found.length > 0) {
    const anchor = await findVerifying(judging, url, found);
    if (typeof anchor !== "string") return anchor;
  }
  const [first] = served;
  if (first === undefined) throw failed;
  const ended = leads.flatMap(({ lead }) => (lead.kind === "ended" ? lead.at : []))[0];
  const reason =
    ended === undefined
      ? "and nothing leads there from the roots that this peel trusts"
      : `and the last certificate that led from trusted roots to it ended at ${ended}`;
  throw new TrustError(
    `${failed.message}. It serves the root ${spkiPin(first)}, ${reason}: compare this pin with svc ca fingerprint on a master; if it is the same, ${across.remedy}`,
  );
}

/** @throws SvcError `unavailable`; what `verify` refuses */
async function fetchDocument(
  { clock, signal }: Judging,
  url: string,
  verify: Verify,
): Promise<BootstrapDocument> {
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
}

function certificatesOf(pem: string): string[] {
  return splitPem(pem).filter((certificate) => {
    return attempt(() => spkiPin(certificate) !== "", false);
  });
}

function parseJson(text: string): unknown {
  return attempt(() => JSON.parse(text));
}
