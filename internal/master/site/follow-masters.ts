import { sign } from "node:crypto";
import { join } from "node:path";
import { createMasterClient, fetchDocument } from "../../agent/joining/mod.ts";
import { createCommandKeys, createRefusedStatements, createRoots } from "../../agent/trust/mod.ts";
import { createBackoff } from "../../base/backoff.ts";
import { encodeBase64 } from "../../base/base64.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import type { BusServer } from "../../bus/server/mod.ts";
import { certificateMessage } from "../../fleet/sites/mod.ts";
import { type KeyPair, parseCredentials } from "../../identity/mod.ts";
import { createTrust, TrustError } from "../../identity/trust/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import { certificateFiles, loadNextKey, replaceFiles, settleFiles } from "./certificate-files.ts";
import { causeToRenew, type HeldCertificate, readHeldCertificate } from "./held-certificate.ts";
import { judgeBusCertificate, type Obstacle } from "./judge.ts";

/** A rotation of the root has phases that an operator starts one after the other. */
const checkEveryMs = 10 * 60_000;
const retries = { firstMs: 5_000, maxMs: checkEveryMs };
/** How long a site that was refused, or got nothing better, does not ask for a certificate. */
const refusedMs = 24 * 3_600_000;
/** A copy of the files has several. */
const settleMs = 500;

export interface SiteOptions {
  /** Name of the site. */
  site: string;
  /** Directory of its bus: absolute. */
  dir: string;
  /** URLs of the masters, at least one. */
  masterUrls: readonly string[];
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/** Keeps the certificate of the bus of a site, and the roots that it trusts, as the masters have them. */
export interface SiteFollower {
  /** Begins to look. @param server reads its files again after a change */
  attach(server: Pick<BusServer, "reload"> | undefined): void;
  /** `certificate` of /readyz. */
  check(): CheckResult;
  stop(): void;
}

/**
 * Follows the masters, as the bus of a master follows its authority: the site asks them over HTTPS which roots count,
 * and for a certificate of a key that it makes, when the one it has ends, was issued by another root or was made elsewhere. It
 * proves who it is with the key of its link. What fails is tried again.
 *
 * @throws SvcError `bad_request` for files that are missing or damaged, `storage`
 */
export function followMasters(options: SiteOptions): SiteFollower {
  const { site, dir, masterUrls, clock, jitter, log, signal } = options;
  const files = certificateFiles(dir);
  const caPath = join(dir, "nats-ca.crt");
  const linkKey = readLinkKey(join(dir, "link.creds"));
  const roots = createRoots({
    // The file of the bus is the anchor: there is one CA, and no operator named another file.
    ways: () => ({ config: { enroll_ca: "", enroll_ca_pin: [], bus_ca: "" }, env: {} }),
    files: { anchor: caPath, busCa: caPath },
    refusedStatements: createRefusedStatements({ clock }),
    clock,
    log,
  });
  const commandKeys = createCommandKeys(join(dir, "command-keys"), log);
  const trust = createTrust({
    rung: { rung: 3, ca: { path: caPath, pem: readTextFile(caPath, "the roots of the bus") } },
    followed: roots.counting,
    across: {
      trusted: roots.kept,
      remedy: `replace ${caPath} by nats-ca.crt of the fleet, and restart svc-master at the site`,
    },
    storeAnchor() {},
    clock,
    log,
    signal,
  });
  const masters = createMasterClient({ urls: masterUrls, trust, clock, jitter, log, signal });
  const attempts = Math.max(2, masterUrls.length);
  const backoff = createBackoff({ ...retries, jitter });
  let server: Pick<BusServer, "reload"> | undefined;
  let obstacle: Obstacle | undefined;
  /** Until when it does not ask for a certificate. */
  let waitsUntil = Number.NEGATIVE_INFINITY;
  /** The jitter of the renewal, drawn once for each certificate. */
  let early = jitter();
  let working: Promise<void> = Promise.resolve();
  let timer = { cancel() {} };
  let seen = "";

  const readFiles = () => [files.cert, files.key, caPath].map((path) => readTextIfPresent(path) ?? "");
  const held = (): HeldCertificate | undefined => {
    const [cert, key] = readFiles();
    return readHeldCertificate(cert, key);
  };
  /** Lets the server read what changed on the disk, also by others. @returns whether anything did */
  const reloadIfChanged = (): boolean => {
    const now = JSON.stringify(readFiles());
    if (now === seen) return false;
    const isFirst = seen === "";
    seen = now;
    if (!isFirst) server?.reload();
    return true;
  };

  /** @returns the pin of the root that masters issue from */
  const followDocument = async (): Promise<string | undefined> => {
    const request = () => fetchDocument({ masters, attempts, commandKeys, roots, log });
    const reported = await request();
    // Its rotation may be signed by a command key that came with it.
    return (reported.again ? await request() : reported).issuing;
  };
  const renew = async (before: HeldCertificate | undefined): Promise<void> => {
    const key = loadNextKey(files);
    const answer = await masters.request("POST", `/api/v1/sites/${site}/certificate`, {
      attempts,
      body: () => {
        const signedAt = rfc3339(clock.now());
        const message = certificateMessage({ site, publicKey: key.publicKey, signedAt });
        const proof = sign("sha256", message, { key: key.privateKey, dsaEncoding: "ieee-p1363" });
        return {
          public_key: encodeBase64(key.publicKey),
          signed_at: signedAt,
          signature: encodeBase64(linkKey.sign(message)),
          proof: encodeBase64(proof),
        };
      },
    });
    const { certificate, error } = answer.body;
    if (answer.status !== 200 || typeof certificate !== "string") {
      throw refusal(answer.status, typeof error === "string" ? error.slice(0, 300) : "");
    }
    const next = readHeldCertificate(certificate, key.pem);
    assertUsable(next, before, { roots: roots.counting(), now: clock.now() });
    replaceFiles(files, certificate);
    early = jitter();
    log.info("the certificate of the bus was renewed", { not_after: rfc3339(next.until) });
  };
  const check = async (): Promise<void> => {
    settleFiles(files);
    const issuing = await followDocument();
    // A verifier of the others must know a root before they show a certificate that it signed.
    reloadIfChanged();
    const before = held();
    const now = clock.now();
    const cause = causeToRenew(before, { roots: roots.counting(), issuing, now, jitter: early });
    if (cause === undefined) {
      obstacle = undefined;
      return;
    }
    if (now < waitsUntil) return;
    log.info("asking masters for a certificate", { cause });
    await renew(before);
    reloadIfChanged();
    obstacle = undefined;
  };
  const checkOrReport = async (): Promise<void> => {
    timer.cancel();
    let nextMs = checkEveryMs * (0.9 + jitter() / 10);
    try {
      await check();
      backoff.reset();
    } catch (thrown) {
      if (signal.aborted) return;
      const isFinal = thrown instanceof Refused;
      if (isFinal) waitsUntil = clock.now() + refusedMs;
      obstacle = { reason: describeError(thrown), mayPass: !isFinal && !(thrown instanceof TrustError) };
      nextMs = backoff.next();
      log.warn("the certificate of the bus does not follow the masters", {
        reason: obstacle.reason,
        retry_in_ms: nextMs,
      });
    }
    if (!signal.aborted) timer = clock.after(nextMs, checkInTurn);
  };
  const checkInTurn = () => {
    working = working.then(checkOrReport);
  };

  settleFiles(files);
  reloadIfChanged();
  let watching = { stop() {} };
  return {
    attach(started) {
      server = started;
      // An operator may put files here at any time.
      watching = watchDirectory(dir, {
        onChange() {
          if (reloadIfChanged()) checkInTurn();
        },
        ...{ settleMs, untilQuiet: true, recursive: false, clock, log },
      });
      checkInTurn();
    },
    check: () => judgeBusCertificate(held(), obstacle, clock.now()),
    stop() {
      timer.cancel();
      watching.stop();
    },
  };
}

/** Masters do not give what was asked for, and would not a moment later. */
class Refused extends SvcError {}

function refusal(status: number, error: string): SvcError {
  const reported = `masters refuse a certificate (status ${status})${error === "" ? "" : `: ${error}`}`;
  switch (status) {
    case 401:
      // Such as for a clock that is wrong.
      return new SvcError("unauthorized", reported);
    default:
      return new Refused("unavailable", reported);
  }
}

/** @throws Refused for a certificate that cannot be used here */
function assertUsable(
  next: HeldCertificate | undefined,
  before: HeldCertificate | undefined,
  { roots, now }: { roots: readonly string[]; now: number },
): asserts next is HeldCertificate {
  if (next === undefined || !next.fits || next.until <= now || !roots.some(next.leadsTo)) {
    throw new Refused("unavailable", "masters sent a certificate that cannot be used here");
  }
  if (before === undefined || before.until <= now) return;
  const lost = before.names.filter((name) => !next.names.includes(name));
  if (lost.length > 0) {
    throw new Refused(
      "conflict",
      `masters know this site without ${lost.join(", ")}, which the certificate here has: issue it with svc ca issue nats-server, or add the site again with that name`,
    );
  }
  if (before.fits && before.isOwn && roots.some(before.leadsTo) && next.until <= before.until) {
    throw new Refused(
      "unavailable",
      "the certificate of the masters ends with their intermediate: renew that with svc ca renew-intermediate",
    );
  }
}

/** @throws SvcError `bad_request` */
const readLinkKey = (path: string): KeyPair =>
  parseCredentials(readTextFile(path, "the credentials of the link")).key;
