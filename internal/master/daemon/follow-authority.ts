import { join, resolve } from "node:path";
import { describeError } from "../../base/errors.ts";
import type { BusServer } from "../../bus/server/mod.ts";
import { renewBusCertificate, renewRootFile } from "../certificate/mod.ts";
import type { MasterDeps } from "./options.ts";
import type { Certificate } from "./parts/certificate.ts";

const checkEveryMs = 60 * 60 * 1000;

/** Keeps the files of the bus in line with the authority of this master. */
interface FollowedAuthority {
  /** Resolves when no change is in progress. */
  settled(): Promise<void>;
  /** The server that reads its certificate again after a change. */
  attach(server: Pick<BusServer, "reload"> | undefined): void;
  stop(): void;
}

/**
 * Follows the authority of this master, where it has one: the certificate of the embedded bus and the roots that
 * operators and masters verify it with are brought up to date at the start, when the authority changes, and every
 * hour. What fails is tried again at the next look.
 */
export function followAuthority({
  config,
  certificates,
  clock,
  random,
  log,
}: Pick<MasterDeps, "config" | "clock" | "random" | "log"> & Certificate): FollowedAuthority {
  let server: Pick<BusServer, "reload"> | undefined;
  let working: Promise<void> = Promise.resolve();
  const dir = resolve(config.embedded_bus_dir);
  const roots = new Set([
    join(config.auth_dir, "bus-ca.crt"),
    ...(config.bus_ca === "" ? [] : [resolve(config.bus_ca)]),
    ...(config.embedded_bus ? [join(dir, "nats-ca.crt")] : []),
  ]);
  /** Whether a change came before the server was attached. */
  let unread = false;

  const check = async () => {
    const { inForce } = certificates.current();
    if (inForce === undefined) return;
    try {
      // Clients must know the root before the bus shows a certificate that it signed.
      for (const path of roots) renewRootFile(path, { inForce, log });
      if (config.embedded_bus && (await renewBusCertificate(dir, { inForce, clock, random, log }))) {
        unread = server === undefined;
        server?.reload();
      }
    } catch (thrown) {
      log.error("the certificate of the bus does not follow the authority", {
        error: describeError(thrown),
        retry_in_ms: checkEveryMs,
      });
    }
  };
  const checkInTurn = () => {
    working = working.then(check);
  };
  checkInTurn();
  const forget = certificates.onChange(checkInTurn);
  const timer = clock.every(checkEveryMs, checkInTurn);
  return {
    settled: () => working,
    attach(started) {
      server = started;
      if (unread) server?.reload();
    },
    stop() {
      forget();
      timer.cancel();
    },
  };
}
