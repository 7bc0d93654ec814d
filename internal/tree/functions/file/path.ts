import { posix } from "node:path";
import { quote } from "../../../base/cut.ts";
import { StateFailure } from "../../function/mod.ts";

/**
 * The path of a state for system calls. It has no doubled slashes, and no
 * trailing slash, which would follow a symbolic link.
 *
 * @throws StateFailure when it is not absolute, or contains `.` or `..`
 */
export function pathOf(name: string): string {
  const path = name.replace(/\/+/g, "/");
  if (path.startsWith("/") && !path.includes("\0") && posix.normalize(path) === path) {
    return path.replace(/\/$/, "") || "/";
  }
  throw new StateFailure(`name: expected an absolute path without . or .., got ${quote(name, 200)}`);
}

/** Directories that the host needs to work. */
const essential = new Set(
  "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /opt /proc /root /run /sbin /srv /sys /tmp /usr /usr/bin /usr/lib /usr/sbin /var /var/lib".split(
    " ",
  ),
);

/** Why a directory must never be removed with its contents; `undefined` when it may be. */
export function removalProblem(path: string): string | undefined {
  return essential.has(path) ? `${path} is a system directory and is never removed` : undefined;
}
