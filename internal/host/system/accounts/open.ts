import { SvcError } from "../../../base/errors.ts";
import type { System } from "../system.ts";
import { busyboxAccounts } from "./busybox.ts";
import type { AccountManager } from "./manager.ts";
import { shadowAccounts } from "./shadow.ts";

/**
 * Opens the programs that manage the accounts of a host.
 *
 * @throws SvcError `bad_request` naming the supported programs
 */
export function accountsOf(system: System): AccountManager {
  if (system.has("useradd")) return shadowAccounts(system);
  if (system.has("adduser") && system.has("busybox")) return busyboxAccounts(system);
  throw new SvcError(
    "bad_request",
    "user: no supported program found: looked for useradd, adduser of BusyBox",
  );
}
