import { type LabelsOfHost, type LacksForLabels, lacksForLabels, type Maker } from "../../fleet/roles/mod.ts";
import type { MasterSignIn } from "../sign-in/mod.ts";
import type { Requests } from "./parts/requests.ts";
import type { Roles } from "./parts/roles.ts";

interface LabelRightDeps {
  roles: Pick<Roles["roles"], "current">;
  rolesOfSigner: Requests["rolesOfSigner"];
  signIn: Pick<MasterSignIn, "rolesNow" | "standingOf">;
}

/** Judges who made a join token or an entry of an expected host, when a host joins by it. */
export function createLabelRight(deps: LabelRightDeps): LacksForLabels {
  return async (maker, labels) => {
    if (isEmpty(labels)) return undefined;
    const now = maker === undefined ? { refused: "unknown" } : await rolesNow(deps, maker);
    return lacksForLabels(deps.roles.current(), "refused" in now ? [] : now.roles, labels);
  };
}

const isEmpty = ({ own, former }: LabelsOfHost) =>
  Object.keys(own).length === 0 && Object.keys(former).length === 0;

/** The roles that someone has now; without `roles` they may do everything. */
async function rolesNow(
  { rolesOfSigner, signIn }: LabelRightDeps,
  { name, roles, key, bearer, issuer }: Maker,
): Promise<{ roles?: readonly string[] } | { refused: string }> {
  if (key !== undefined) return rolesOfSigner(name, key);
  if (roles === undefined) return signIn.standingOf({ by: "unregistered", name });
  if (issuer !== undefined) return signIn.standingOf({ by: "oidc", name, issuer, roles });
  // A master started what others agreed to, for someone whose roles are in a token that nobody keeps.
  if (bearer === undefined) return { roles };
  const now = signIn.rolesNow(name, bearer);
  return now === undefined ? { refused: "the token has ended" } : { roles: now };
}
