import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PrivateRoot } from "./private-root.ts";

const packages = join(import.meta.dir, "../../.tools/host-packages");

/** Programs that `release/download-host-packages.sh` downloads for `make host`. */
export type HostPackages = "cron" | "docker" | "firewall" | "lvm" | "mysql" | "ruby" | "selinux" | "trace";

/**
 * Installs Debian's own packages in a private root, which has no network. No package starts a service.
 *
 * @throws Error when they are not downloaded, or do not install
 */
export async function installPackages(root: PrivateRoot, group: HostPackages): Promise<void> {
  const directory = join(packages, group);
  if (!existsSync(join(directory, "complete"))) {
    throw new Error(`the packages of ${group} are missing: run release/download-host-packages.sh`);
  }
  const script = [
    "set -e",
    "printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d",
    "chmod 755 /usr/sbin/policy-rc.d",
    // Manual pages are not looked at, and their index takes long.
    "dpkg-divert --quiet --local --rename --add /usr/bin/mandb; ln -sf /bin/true /usr/bin/mandb",
    // What a package needs before it is unpacked is there the second time.
    // A machine that has all of them needs none.
    `set -- ${directory}/*.deb; [ -e "$1" ] || exit 0`,
    `install() { DEBIAN_FRONTEND=noninteractive dpkg --install --skip-same-version --refuse-downgrade ${directory}/*.deb; }`,
    "install || install",
  ].join("\n");
  const { code, stdout, stderr } = await root.run(["/bin/sh"], { stdin: script });
  if (code !== 0) throw new Error(`dpkg cannot install ${group}:\n${(stdout + stderr).slice(-2000)}`);
}
