import { join } from "node:path";
import { createMasterClient, fetchDocument } from "../../agent/joining/mod.ts";
import {
  type CommandKeys,
  createCommandKeys,
  createRefusedStatements,
  createRoots,
} from "../../agent/trust/mod.ts";
import { type Backoff, createBackoff } from "../../base/backoff.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import type { BusServer } from "../../bus/server/mod.ts";
import { type KeyPair, parseCredentials } from "../../identity/mod.ts";
import { createTrust, TrustError } from "../../identity/trust/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import { certificateFiles, settleFiles } from "./certificate-files.ts";
import { causeToRenew, type HeldCertificate, readHeldCertificate } from "./held-certificate.ts";
import { judgeBusCertificate, type Obstacle } from "./judge.ts";
import { Refused, renewCertificate, type Site } from "./renew-certificate.ts";

/** A rotation of the root has phases that an operator starts one after the other. */
const checkEveryMs = 10 * 60_000;
const retries = { firstMs: 5_000, maxMs: checkEveryMs };
/** How long a site that was refused, or got nothing better, does not request a certificate. */
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
  /** Starts checking. @param server reads its files again after a change */
  attach(server: Pick<BusServer, "reload"> | undefined): void;
  /** `certificate` of /readyz. */
  check(): CheckResult;
  stop(): void;
}

/** The bus of a site, and what its masters said last. */
interface Following extends Site, Omit<SiteOptions, keyof Site> {
  readonly caPath: string;
  readonly commandKeys: CommandKeys;
  readonly backoff: Backoff;
  server: Pick<BusServer, "reload"> | undefined;
  obstacle: Obstacle | undefined;
  /** Until when it requests no certificate. */
  waitsUntil: number;
  /** The jitter of the renewal, drawn once for each certificate. */
  early: number;
  /** The files that the server has read. */
  seen: string;
  working: Promise<void>;
  timer: Timer;
}

/**
 * Follows the masters, as the bus of a master follows its authority: the site asks them over HTTPS which roots count,
 * and for a certificate of a key that it makes, when the one it has ends, was issued by another root or was made elsewhere. It
 * proves who it is with the key of its link. What fails is tried again.
 *
 * @throws SvcError `bad_request` for files that are missing or damaged, `storage`
 */
export function followMasters(options: SiteOptions): SiteFollower {
  const { dir, clock, jitter, log } = options;
  const caPath = join(dir, "nats-ca.crt");
  const following: Following = {
    ...{ ...options, files: certificateFiles(dir), caPath, linkKey: readLinkKey(join(dir, "link.creds")) },
    ...reachMasters(options, caPath),
    backoff: createBackoff({ ...retries, jitter }),
    ...{ server: undefined, obstacle: undefined, waitsUntil: Number.NEGATIVE_INFINITY },
    early: jitter(),
    ...{ seen: "", working: Promise.resolve(), timer: { cancel() {} } },
  };
  settleFiles(following.files);
  reloadIfChanged(following);
  let watching = { stop() {} };
  return {
    attach(started) {
      following.server = started;
      // An operator may put files here at any time.
      watching = watchDirectory(dir, {
        onChange() {
          if (reloadIfChanged(following)) checkInTurn(following);
        },
        ...{ settleMs, untilQuiet: true, recursive: false, clock, log },
      });
      checkInTurn(following);
    },
    check: () => judgeBusCertificate(held(following), following.obstacle, clock.now()),
    stop() {
      following.timer.cancel();
      watching.stop();
    },
  };
}

/** How a site finds masters that it can believe: by the roots in its files, and those that followed them. */
function reachMasters({ dir, masterUrls, clock, jitter, log, signal }: SiteOptions, caPath: string) {
  const roots = createRoots({
    // The file of the bus is the anchor: there is one CA, and no operator named another file.
    ways: () => ({ config: { enroll_ca: "", enroll_ca_pin: [], bus_ca: "" }, env: {} }),
    files: { anchor: caPath, busCa: caPath },
    refusedStatements: createRefusedStatements({ clock }),
    clock,
    log,
  });
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
  return {
    roots,
    commandKeys: createCommandKeys(join(dir, "command-keys"), log),
    masters: createMasterClient({ urls: masterUrls, trust, clock, jitter, log, signal }),
    attempts: Math.max(2, masterUrls.length),
  };
}

function readFiles({ files, caPath }: Following): string[] {
  return [files.cert, files.key, caPath].map((path) => readTextIfPresent(path) ?? "");
}

function held(following: Following): HeldCertificate | undefined {
  const [cert, key] = readFiles(following);
  return readHeldCertificate(cert, key);
}

/** Lets the server read what changed on the disk, also by others. @returns whether anything did */
function reloadIfChanged(following: Following): boolean {
  const { seen, server } = following;
  const now = JSON.stringify(readFiles(following));
  if (now === seen) return false;
  following.seen = now;
  if (seen !== "") server?.reload();
  return true;
}

function checkInTurn(following: Following): void {
  following.working = following.working.then(() => checkOrReport(following));
}

async function checkOrReport(following: Following): Promise<void> {
  const { clock, jitter, log, signal, backoff } = following;
  following.timer.cancel();
  let nextMs = checkEveryMs * (0.9 + jitter() / 10);
  try {
    await check(following);
    backoff.reset();
  } catch (thrown) {
    if (signal.aborted) return;
    const isFinal = thrown instanceof Refused;
    if (isFinal) following.waitsUntil = clock.now() + refusedMs;
    const reason = describeError(thrown);
    following.obstacle = { reason, mayPass: !isFinal && !(thrown instanceof TrustError) };
    nextMs = backoff.next();
    log.warn("the certificate of the bus does not follow the masters", { reason, retry_in_ms: nextMs });
  }
  if (!signal.aborted) following.timer = clock.after(nextMs, () => checkInTurn(following));
}

/** Follows the roots of the masters, and renews the certificate when it must be. */
async function check(following: Following): Promise<void> {
  const { files, roots, clock, log, early, jitter } = following;
  settleFiles(files);
  const issuing = await followDocument(following);
  // A verifier of the others must know a root before they show a certificate that it signed.
  reloadIfChanged(following);
  const before = held(following);
  const now = clock.now();
  const cause = causeToRenew(before, { roots: roots.counting(), issuing, now, jitter: early });
  if (cause !== undefined) {
    if (now < following.waitsUntil) return;
    log.info("asking masters for a certificate", { cause });
    await renewCertificate(following, before);
    following.early = jitter();
    reloadIfChanged(following);
  }
  following.obstacle = undefined;
}

/** @returns the pin of the root that masters issue from */
async function followDocument(following: Following): Promise<string | undefined> {
  const reported = await fetchDocument(following);
  // Its rotation may be signed by a command key that came with it.
  return (reported.again ? await fetchDocument(following) : reported).issuing;
}

/** @throws SvcError `bad_request` */
const readLinkKey = (path: string): KeyPair =>
  parseCredentials(readTextFile(path, "the credentials of the link")).key;
