import { findAccount } from "../../../base/process/account.ts";
import type { Account } from "../../../base/process/process.ts";
import type { StateContext } from "../../function/mod.ts";

/**
 * Who runs a package manager: a user, or that of the peel. The peel has no home of its own in the environment of
 * programs, and a manager would put its cache into `/` and miss the configuration in the home of the user.
 *
 * @throws SvcError when the user does not exist
 */
export function runner(user: string | undefined, context: StateContext): Promise<Account> {
  return findAccount(user ?? `${process.geteuid?.()}`, context);
}
