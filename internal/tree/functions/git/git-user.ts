import { findForeignDirectory } from "../../../base/files/foreign-directory.ts";
import { findAccount, findAccountIfPresent } from "../../../base/process/account.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import { touching } from "../file/inspect.ts";

/**
 * The user that git runs as. Git follows paths, so it never runs as root where another user can replace them: it
 * runs as the owner of the directory.
 *
 * @throws StateFailure when the directory does not tell the user
 */
export async function userFor(
  target: string,
  user: string | undefined,
  context: StateContext,
): Promise<string | undefined> {
  if (process.geteuid?.() !== 0) return user;
  if (user !== undefined && (await findAccount(user, context)).uid !== 0) return user;
  const foreign = touching("use", target, () => findForeignDirectory(target));
  if (foreign === undefined) return user;
  const owner =
    user === undefined && foreign.uid !== 0
      ? await findAccountIfPresent(`${foreign.uid}`, context)
      : undefined;
  if (owner !== undefined) return owner.name;
  throw new StateFailure(
    `git does not run as root in ${foreign.path}, which another user can change; set user to the owner of the files`,
  );
}
