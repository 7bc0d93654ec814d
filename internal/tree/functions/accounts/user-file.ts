import { dirname } from "node:path";
import type { Account } from "../../../base/process/process.ts";
import type { User } from "../../../host/system/accounts/mod.ts";
import { type System, succeed } from "../../../host/system/system.ts";
import { StateFailure } from "../../function/mod.ts";
import { refuseWith } from "../steps.ts";

/** A path in which %h is the home directory and %u the name of the user. @throws StateFailure when it is not absolute */
export function homePath(config: string, { name, home }: User): string {
  const path = config.replace(/%[hu%]/g, (each) => (each === "%h" ? home : each === "%u" ? name : "%"));
  refuseWith(path.startsWith("/") ? undefined : `config: ${path} is not an absolute path`);
  return path;
}

/** Runs as the user, so that no link of the user can redirect a write by root. */
const script = `
umask 077
mkdir -p "$(dirname "$0")" && cat >"$0.svc" && chmod 600 "$0.svc" && mv -f "$0.svc" "$0"
`;

/** Writes a file, as the user if it is in the home directory. */
export async function writeUserFile(system: System, user: User, path: string, text: string): Promise<void> {
  if (!path.startsWith(`${user.home}/`) || user.uid === 0) {
    if (!system.exists(dirname(path))) throw new StateFailure(`directory ${dirname(path)} does not exist`);
    system.write(path, text);
    return;
  }
  if (!system.exists(user.home))
    throw new StateFailure(`${user.name} has no home directory: ${user.home} does not exist`);
  const account: Account = { ...user, shell: user.shell || "/bin/sh" };
  await succeed(system, `write ${path}`, ["/bin/sh", "-c", script, path], { stdin: text, account });
}
