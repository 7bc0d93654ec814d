import { subjectsOfScopes } from "../../../doors/rooms/mod.ts";
import { createDisconnections } from "../../../fleet/enrollment/revocation/mod.ts";
import {
  createAccountReconciler,
  createOperatorRevocations,
  createRegistry,
  createUnsignedRequesters,
  followStatements,
  type OperatorDeps,
} from "../../../fleet/operators/mod.ts";
import { assemble, type CheckResult, type OffersOf } from "../../../program/health/mod.ts";
import { followOperatorFiles } from "../../keys/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Audited } from "./audit.ts";
import { catchUp } from "./catch-up.ts";
import type { Certificate } from "./certificate.ts";
import type { SoundClock } from "./clock.ts";
import type { Connected } from "./connect.ts";
import type { Roles } from "./roles.ts";
import type { Opened } from "./storage.ts";

interface OperatorsNeed {
  base: MasterDeps;
  connection: Connected;
  opened: Opened;
  clock: SoundClock;
  certificate: Certificate;
  audit: Audited;
  roles: Roles;
}

/** Who is an operator: the registry, and what the bus must hold for it. */
export const operators = {
  start: ({ base, connection, opened, clock: { sound }, certificate, audit, roles }: OperatorsNeed) =>
    assemble(async (stack) => {
      const { config, keys, budgets, clock, log } = base;
      const { storage } = opened;
      const { system } = connection;
      const { certificates } = certificate;
      const account = keys.mastersAccount;
      const files = followOperatorFiles({ authDir: config.auth_dir, account, clock, log });
      stack.defer(() => files.stop());
      const registry = createRegistry({
        ...{ bucket: storage.operators, floors: audit.versionFloors, clock, log },
        administrators: () => files.administrators,
      });
      stack.defer(() => registry.stop());
      const statements = followStatements({
        bucket: storage.secrets,
        fleet: keys.account.publicKey,
        administrators: () => files.administrators,
        log,
      });
      stack.defer(() => statements.stop());
      await catchUp("operators", Promise.all([registry.ready, statements.ready]), base);
      const revocations = createOperatorRevocations({ bucket: storage.operatorRevocations, log });
      stack.defer(() => revocations.stop());
      const reconciler = createAccountReconciler({
        ...{ revocations, system, account, signer: keys.operatorSigning, clock, log },
        signingKey: () => files.signer?.publicKey,
        async disabledKeys() {
          await registry.caughtUp();
          return registry.disabledKeys();
        },
        mayPrune: () => sound.check().status !== "down",
      });
      const reconciling = reconciler.start();
      stack.defer(() => reconciling.stop());
      stack.defer(files.onChange(() => void reconciler.enforce().catch(() => false)));
      const disconnections = createDisconnections(system, account, clock);
      stack.defer(() => disconnections.stop());
      const unsigned = createUnsignedRequesters(clock);
      const operation: OperatorDeps = {
        adoption: {
          requireSigned: config["operators.require_signed"],
          unsigned,
          connected: async () => (await system.connectedUsers(account)).users,
        },
        ...{ registry, revocations, reconciler, disconnections, clock, log },
        bucket: storage.operators,
        mint: { signer: () => files.signer, scopesOf: roles.scopesOf, subjects: subjectsOfScopes },
        scopesOf: roles.scopesOf,
        knownRoles: roles.roleNames,
        address: {
          fleet: account,
          busUrls: () =>
            config.bus_advertise_urls.length > 0 ? config.bus_advertise_urls : [config.bus_url],
          caPem: () => {
            const { root, rotation } = certificates.current();
            return root === undefined ? "" : root.pem + (rotation?.next.pem ?? "");
          },
          crossPem: () => {
            const { inForce } = certificates.current();
            const crosses = [inForce?.authority.crossPem ?? [], inForce?.crosses ?? []].flat();
            return crosses.map((pem) => `${pem.trim()}\n`).join("");
          },
        },
      };
      return {
        registry,
        statements,
        unsigned,
        operatorOperations: operation,
        checks: {
          operators: () => standingOf(budgets.flooding(), files.problem),
        },
      };
    }),
};

function standingOf(flooding: readonly string[], problem: string | undefined): CheckResult {
  const [first] = flooding;
  if (first !== undefined) {
    const message = `ten times as many requests as allowed come from ${flooding.join(", ")}`;
    return { status: "degraded", message, next: `svc operator disable ${first}` };
  }
  return problem === undefined ? { status: "up" } : { status: "degraded", message: problem };
}

export type Operators = OffersOf<typeof operators>;
