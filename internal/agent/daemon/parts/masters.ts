import { existsSync } from "node:fs";
import { join } from "node:path";
import { describeError, SvcError } from "../../../base/errors.ts";
import { createFileAtomic, publicMode, secretMode, writeFileAtomic } from "../../../base/file.ts";
import type { Log } from "../../../base/log.ts";
import { writing } from "../../../base/new-files.ts";
import { displayPeelId } from "../../../base/peel-id.ts";
import { createBootstrapCache } from "../../../identity/bootstrap/mod.ts";
import { createTrust, TrustError } from "../../../identity/trust/mod.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import {
  createMasterClient,
  enrollPeel,
  fetchDocument,
  loadOrCreateKey,
  type MasterClient,
  masterUrls,
  rungOf,
} from "../../joining/mod.ts";
import type { PeelDeps } from "../options.ts";

const defaultMasterUrl = "https://svc:8443";
/** Attempts at the guessed master before a peel without any configuration gives up. */
const guessedMasterAttempts = 4;

/** The masters over HTTPS: this peel enrolls there when it must, and asks them for the way to the bus. */
export const masters = {
  async start(deps: PeelDeps) {
    const { config, dataDir, files, commandKeys, log } = deps;
    const configured = masterUrls(config);
    const client = clientOf(deps, configured);
    if (!existsSync(files.credentials)) await enroll(deps, client);
    const cache = createBootstrapCache({
      path: join(dataDir, "nats-bootstrap.msgpack"),
      masterUrls: configured,
      pins: config.enroll_ca_pin,
      log,
    });
    const attempts = Math.max(2, configured.length);
    // The guessed master is for enrolling alone.
    const refresh =
      configured.length === 0
        ? undefined
        : () => fetchDocument({ masters: client, attempts, cache, commandKeys, log });
    /** Before the first connection a master that is not who it must be ends the peel; one that is away does not. */
    const firstDocument = () => refresh?.().catch((thrown) => unlessMismatch(thrown, log));
    if (commandKeys.current.length === 0) {
      if (refresh === undefined) {
        log.error("no command keys: every job is refused until master_urls is set", {
          file: files.commandKeys,
        });
      } else await firstDocument();
    }
    return { cache, refresh, firstDocument, stop() {} };
  },
};

export type Masters = OffersOf<typeof masters>;

function clientOf(deps: PeelDeps, configured: readonly string[]): MasterClient {
  const { config, files, clock, log, signal } = deps;
  const trust = createTrust({
    rung: rungOf(config, files),
    keepAnchor: (pem) => writing(files.anchor, () => createFileAtomic(files.anchor, pem, publicMode)),
    clock,
    log,
    signal,
  });
  return createMasterClient({
    urls: configured.length > 0 ? configured : [defaultMasterUrl],
    ...(configured.length > 0 ? {} : { attempts: guessedMasterAttempts }),
    trust,
    clock,
    jitter: deps.jitter,
    log,
    signal,
  });
}

function unlessMismatch(thrown: unknown, log: Log): undefined {
  if (thrown instanceof TrustError || !(thrown instanceof SvcError)) throw thrown;
  log.warn("no bootstrap document", { reason: describeError(thrown) });
}

async function enroll(deps: PeelDeps, client: MasterClient): Promise<void> {
  const { files, peelId, log } = deps;
  const enrolled = await enrollPeel({
    ...deps,
    masters: client,
    key: loadOrCreateKey(files.seed, deps.random),
    metadata: { os: process.platform, arch: process.arch },
  });
  try {
    // The command keys first: with credentials on disk the enrollment counts as done.
    deps.commandKeys.replace(enrolled.commandKeys);
    writing(files.credentials, () => writeFileAtomic(files.credentials, enrolled.credentials, secretMode));
  } catch (cause) {
    const reason = cause instanceof SvcError ? cause.message : describeError(cause);
    throw new SvcError(
      "storage",
      `${reason}: these credentials are issued only once, so run svc enroll revoke ${enrolled.enrollmentId} and start again`,
      { cause },
    );
  }
  log.info("enrolled", { peel_id: displayPeelId(peelId), credentials: files.credentials });
}
