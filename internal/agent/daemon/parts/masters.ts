import { existsSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../../../base/defined.ts";
import { describeError, SvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { createBootstrapCache } from "../../../identity/bootstrap/mod.ts";
import { createTrust, TrustError } from "../../../identity/trust/mod.ts";
import type { CheckResult, OffersOf } from "../../../program/health/mod.ts";
import { reportSubjects } from "../../compliance/mod.ts";
import { createProver } from "../../evidence/mod.ts";
import { readEnrollmentId, storeEnrollmentId } from "../../identity/mod.ts";
import {
  acrossRotations,
  CredentialsGone,
  createMasterClient,
  enrollAndStore,
  fetchDocument,
  findEnrollment,
  grantedSite,
  type MasterClient,
  masterUrls,
  rungOf,
} from "../../joining/mod.ts";
import type { Obstacle } from "../../link/mod.ts";
import { isShort, type Renewer, startRenewer } from "../../renewal/mod.ts";
import type { PeelDeps } from "../options.ts";

const defaultMasterUrl = "https://svc:8443";
/** Attempts at the guessed master before a peel without any configuration gives up. */
const guessedMasterAttempts = 4;

/** The masters over HTTPS: this peel enrolls there when it must, and asks them for the way to the bus. */
export const masters = {
  async start(deps: MastersDeps) {
    const { config, dataDir, files, commandKeys, recoveryKeys, roots, succession, log } = deps;
    const configured = masterUrls(config);
    const client = clientOf(deps, configured);
    const attempts = Math.max(2, configured.length);
    const isKnown = configured.length > 0 || existsSync(files.anchor);
    const renewer = startRenewer({
      ...deps,
      masters: isKnown ? { client, attempts } : undefined,
      publishes: reportSubjects(deps.peelId),
    });
    if (!existsSync(files.credentials)) await obtain(deps, client, renewer, attempts);
    const cache = createBootstrapCache({
      path: join(dataDir, "nats-bootstrap.msgpack"),
      masterUrls: configured,
      // URLs of the fleet before are not those of its successor, even where the masters have the same names.
      pins: succession === undefined ? config.enroll_ca_pin : [succession.fingerprint],
      log,
    });
    const site = () => grantedSite(files.credentials) ?? (config.site || undefined);
    // The guessed master is for enrolling alone.
    const refresh =
      configured.length === 0
        ? undefined
        : () =>
            fetchDocument({
              ...{ masters: client, attempts, found: { cache, site } },
              ...{ commandKeys, recoveryKeys, roots, log },
            });
    /** Before the first connection a master that is not who it must be ends the peel; one that is away does not. */
    const firstDocument = () =>
      refresh?.().then(
        ({ urls }) => urls,
        (thrown) => unlessMismatch(thrown, log),
      );
    if (commandKeys.current.length === 0) {
      if (refresh === undefined) {
        log.error("no command keys: every job is refused until master_urls is set", {
          file: files.commandKeys,
        });
      } else await firstDocument();
    }
    return {
      cache,
      site,
      refresh,
      firstDocument,
      renewer,
      checks: { credentials: () => judgeLife(renewer) },
      view: { renewals: () => ({ ...renewer.counts }) },
      stop: renewer.stop,
    };
  },
};

export type Masters = OffersOf<typeof masters>;

interface MastersDeps extends PeelDeps {
  obstacle: Obstacle;
  /** How the operator makes this peel enroll again. */
  again: string;
}

/**
 * Gets credentials for a peel that has none: it recovers those of its enrollment, and enrolls only when it has
 * none yet.
 */
async function obtain(
  deps: MastersDeps,
  client: MasterClient,
  renewer: Renewer,
  attempts: number,
): Promise<void> {
  const { files, keys, log } = deps;
  const recover = (id: string) => {
    try {
      storeEnrollmentId(files.enrollment, id);
    } catch (thrown) {
      // A full disk ends no peel: the renewer looks up the id again, as often as it takes.
      log.warn("credentials not recovered yet", { reason: describeError(thrown) });
    }
    log.warn("the credentials of this peel are missing: recovering them", { enrollment_id: id });
    return renewer.recover();
  };
  const known = readEnrollmentId(files.enrollment);
  if (known !== undefined && existsSync(files.seed)) return recover(known);
  const found = existsSync(files.seed)
    ? await findEnrollment(client, keys.current(), attempts).catch((thrown) => unlessMismatch(thrown, log))
    : undefined;
  if (found !== undefined && ["issued", "active"].includes(found.state)) return recover(found.id);
  try {
    await enrollAndStore({
      ...deps,
      masters: client,
      ...defined({ prove: createProver(deps.config, deps) }),
    });
  } catch (thrown) {
    if (!(thrown instanceof CredentialsGone)) throw thrown;
    await recover(thrown.enrollmentId);
  }
}

function judgeLife({ life, problem }: Renewer): CheckResult {
  if (life === undefined) return { status: "down", message: "no credentials that can be used" };
  const because = problem === undefined ? "" : `: ${problem}`;
  if (life.leftMs <= 0) return { status: "down", message: `the bus credentials have ended${because}` };
  if (!isShort(life)) return { status: "up" };
  const hours = Math.ceil(life.leftMs / 3600_000);
  return {
    status: "degraded",
    message: `the bus credentials end within ${hours} h and were not renewed${because}`,
  };
}

function clientOf(deps: PeelDeps, configured: readonly string[]): MasterClient {
  const { config, files, clock, log, signal } = deps;
  const trust = createTrust({
    rung: rungOf(config, files),
    ...acrossRotations(deps, files, deps.roots),
    storeAnchor: deps.roots.store,
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
