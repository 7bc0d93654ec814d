import { posix } from "node:path";
import { StateFailure } from "../../function/function.ts";

/**
 * The path a state is about, as the system calls take it: a slash at its end would follow a symbolic link.
 *
 * @throws StateFailure when it is not absolute, or has `.`, `..` or doubled slashes in it
 */
export function pathOf(name: string): string {
  if (name.startsWith("/") && !name.includes("\0") && posix.normalize(name) === name) {
    return name.replace(/\/+$/, "") || "/";
  }
  throw new StateFailure(
    `name: expected an absolute path without a . or .. in it, not ${JSON.stringify(name.slice(0, 200))}`,
  );
}

/** Directories without which the host does not work any more. */
const essential = new Set(
  "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /opt /proc /root /run /sbin /srv /sys /tmp /usr /usr/bin /usr/lib /usr/sbin /var /var/lib".split(
    " ",
  ),
);

/** Why nothing of this name is ever removed with what is in it; `undefined` when it may be. */
export function removalProblem(path: string): string | undefined {
  return essential.has(path) ? `${path} belongs to the system, and is not removed` : undefined;
}
