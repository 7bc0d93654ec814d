import type { Clock } from "../../../base/clock.ts";
import { attempt } from "../../../base/errors.ts";
import type { ConnectedUser, ConnectionListener, SystemBus } from "../../../bus/servers/mod.ts";
import { isSignedJwt, readClaims } from "../../../identity/mod.ts";
import type { Directory } from "../store/mod.ts";

/** Signatures that are verified in one second; a server takes some 700 new connections in that time. */
const maxVerified = 1_024;
const windowMs = 1_000;

export interface ProvenConnectionsDeps {
  system: Pick<SystemBus, "followConnections">;
  /** Public key of the peels' account. */
  account: string;
  /** Whether servers of sites may report connections. */
  hasSites(): boolean;
  directory: Pick<Directory, "holds">;
  /** Public keys that sign credentials of peels. */
  issuers(): readonly string[];
  clock: Clock;
}

/**
 * The connections of peels that servers report, without those that the server of a site may have invented: all of them
 * report on one subject. A report counts when it has the key with which this peel may connect, or its JWT, as a master
 * signed it. A site has seen these of the peels that were connected there. When too many are unknown, so that not all can be
 * verified, listeners are unsure: they look for themselves what servers of the bus have.
 */
export function provenConnections(deps: ProvenConnectionsDeps): Pick<SystemBus, "followConnections"> & {
  stop(): void;
} {
  const { system, account, hasSites, directory, issuers, clock } = deps;
  const listeners = new Set<ConnectionListener>();
  let [since, verified] = [Number.NEGATIVE_INFINITY, 0];
  const allUnsure = () => {
    for (const one of listeners) one.unsure();
  };
  const mayVerify = () => {
    const now = clock.monotonic();
    if (now - since >= windowMs) [since, verified] = [now, 0];
    if (verified++ === maxVerified) allUnsure();
    return verified <= maxVerified;
  };
  const counts = (connection: ConnectedUser) =>
    !hasSites() ||
    directory.holds(connection.name, connection.user) ||
    (mayVerify() && isSignedBy(issuers(), connection));
  const toAll = (kind: "began" | "ended") => (connection: ConnectedUser) => {
    if (counts(connection)) for (const one of listeners) one[kind](connection);
  };
  const stop = system.followConnections(account, {
    began: toAll("began"),
    ended: toAll("ended"),
    unsure: allUnsure,
  });
  return {
    followConnections(of, listener) {
      // Of the other accounts, a site may report nothing.
      if (of !== account) return system.followConnections(of, listener);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop,
  };
}

/** Its key and its name are those of its JWT. */
function isSignedBy(issuers: readonly string[], { jwt }: ConnectedUser): boolean {
  return attempt(() => issuers.includes(readClaims(jwt).iss) && isSignedJwt(jwt), false);
}
