import { covers, followRoles, mayReveal, scopesOf } from "../../../fleet/roles/mod.ts";
import { assemble, type CheckResult, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";

/** The roles that operators and tokens can have: those that are built in, and those of the file. */
export const roles = {
  start: ({ base: { config, log } }: { base: MasterDeps }) =>
    assemble(async () => {
      const roles = followRoles(config.roles_file, log);
      return {
        roles,
        /** The names of all roles, for those that operators and tokens get. */
        roleNames: () => [...roles.current().keys()],
        /** Whether roles allow everything that another role allows: a token never has more than its creator. */
        covers: (has: readonly string[], role: string) => covers(roles.current(), has, role),
        mayReveal: (names: readonly string[]) => mayReveal(roles.current(), names),
        /** The scopes of roles, for the subjects of an operator. */
        scopesOf: (names: readonly string[]) => scopesOf(roles.current(), names),
        checks: {
          roles: (): CheckResult => {
            const message = roles.problem();
            return message === undefined ? { status: "up" } : { status: "degraded", message };
          },
        },
      };
    }),
};

export type Roles = OffersOf<typeof roles>;
