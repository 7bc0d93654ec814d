import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { shareRuns } from "../../../base/share-runs.ts";
import { exportsOfMasters } from "../../../bus/accounts/mod.ts";
import type { SystemBus } from "../../../bus/servers/mod.ts";
import { type Claims, encodeJwt, type KeyPair, readClaims } from "../../../identity/mod.ts";
import { subjectsOf } from "./crossing-subjects.ts";

const reconcileMs = 60_000;
/** How often one run pushes; each push after the first reacts to one of another master. */
const pushes = 4;

export interface MaintainExportsDeps {
  system: Pick<SystemBus, "servers" | "pushClaims" | "lookupClaims" | "onServerJoin">;
  /** Public key of the masters' account. */
  account: string;
  /** A signing key of the operator. */
  signer: KeyPair;
  clock: Clock;
  log: Log;
}

/**
 * Adds the exports of this version to the claims of the masters' account, which the version before an upgrade made.
 * Everything else in the claims stays, also exports of a later version. Several masters may do it at once: they add
 * the same.
 */
export function maintainExports(deps: MaintainExportsDeps): {
  /** Resolves after the first run, whatever its result. */
  readonly ready: Promise<void>;
  stop(): void;
} {
  const { system, account, signer, clock, log } = deps;
  const run = async () => {
    for (let pushed = 0; ; pushed++) {
      const held = (await system.lookupClaims(account)).flatMap(({ jwt }) =>
        jwt === "" ? [] : readClaims(jwt),
      );
      const newest = held.toSorted((one, other) => other.iat - one.iat)[0];
      if (newest === undefined || held.every((claims) => lackedBy(claims).length === 0)) return;
      if (pushed === pushes) throw new Error("the bus does not keep the claims that it accepted");
      const issuedAt = Math.max(Math.floor(clock.now() / 1000) + 1, newest.iat + 1);
      const { name, sub, nats } = newest;
      const listed = Array.isArray(nats.exports) ? nats.exports : [];
      const next = { ...nats, exports: [...listed, ...lackedBy(newest)] };
      const jwt = encodeJwt({ type: "account", name, subject: sub, issuedAt, nats: next }, signer);
      const isTaken = await system.pushClaims(jwt);
      log.info("exports of the masters' account extended", {
        subjects: lackedBy(newest).map(({ subject }) => subject),
        confirmed: isTaken,
      });
      // The next run reaches a server that does not answer now.
      if (!isTaken) return;
    }
  };
  const share = shareRuns(run);
  const maintain = () =>
    share().catch((cause) =>
      log.warn("the exports of the masters' account are not complete", { reason: describeError(cause) }),
    );
  const ready = maintain();
  const timer = clock.every(reconcileMs, () => void maintain());
  const ignoreServers = system.onServerJoin(() => void maintain());
  return {
    ready,
    stop() {
      timer.cancel();
      ignoreServers();
    },
  };
}

/** The exports of this version that claims lack. */
function lackedBy(claims: Pick<Claims, "nats">): ReturnType<typeof exportsOfMasters> {
  const held = subjectsOf(claims, "exports");
  return exportsOfMasters().filter(({ subject }) => !held.has(subject));
}
