import { formatAddress } from "../../../base/names/address.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { startSignIn } from "../../sign-in/mod.ts";
import { startApprovals } from "../approvals.ts";
import type { MasterDeps } from "../options.ts";
import { startSessions } from "../sessions.ts";
import type { Audited } from "./audit.ts";
import type { Certificate } from "./certificate.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Gated } from "./gate.ts";
import type { Operators } from "./operators.ts";
import type { Requests } from "./requests.ts";
import type { Roles } from "./roles.ts";
import type { Opened } from "./storage.ts";

interface SignInNeed {
  base: MasterDeps;
  connection: Connected;
  opened: Opened;
  certificate: Certificate;
  audit: Audited;
  roles: Roles;
  operators: Operators;
  requests: Requests;
  decisions: Decisions;
  gate: Gated;
}

/** The callers over REST and in the console, and the requests that wait for others. */
export const signIn = {
  start: ({
    base,
    connection,
    opened,
    certificate,
    audit,
    roles,
    operators,
    requests,
    decisions,
    gate,
  }: SignInNeed) =>
    assemble((stack) => {
      const { config, clock, random, log, signal } = base;
      const { recordMac: mac } = opened;
      const { storage } = decisions;
      const signIn = startSignIn({
        ...{ config, tokens: storage.tokens, ended: audit.endedTokens, mac, clock, random, log, signal },
        operators: {
          rolesNow: (operator) => operators.registry.rolesNow(operator, clock.now()),
          knownRoles: roles.roleNames,
          covers: roles.covers,
          admitsUnregistered: () => !config["operators.require_signed"],
        },
      });
      stack.defer(() => signIn.stop());
      /** The port of the configuration may be 0. */
      let port = config["enroll.addr"].port;
      const own = () => [`https://${formatAddress({ host: base.hostname, port })}`];
      const { "enroll.advertise_urls": advertised } = config;
      /** Where other hosts reach the masters. */
      const urls = () => (advertised.length > 0 ? advertised : own());
      const { rolesOfSigner } = requests;
      const approvals = startApprovals(base, {
        ...{ bus: connection.bus, bucket: storage.approvals, mac, ...gate, rolesOfSigner, signIn },
        persons: roles.roles.persons,
      });
      stack.defer(() => approvals.stop());
      const sessions = startSessions(base, {
        ...{ bucket: storage.sessions, mac, recorder: audit.recorder, registry: operators.registry },
        ...{ rolesOfSigner, scopesOf: roles.scopesOf, signIn, urls },
        certificateNames: certificate.names,
      });
      return {
        ...{ signIn, approvals, sessions, urls },
        /** Called with the port that the listener got. */
        listensOn(got: number) {
          port = got;
        },
      };
    }),
};

export type SignedIn = OffersOf<typeof signIn>;
