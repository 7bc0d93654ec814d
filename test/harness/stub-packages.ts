import { expect } from "bun:test";
import type { PrivateRoot } from "./private-root.ts";

/** A package that a repository in a private root has. */
export interface StubPackage {
  name: string;
  version?: string;
  /** Services whose units it installs; each sleeps. */
  services?: readonly string[];
}

/**
 * Gives a private root a repository of packages that install units at most, and no other one: it has no network,
 * and apt, dpkg and systemd do real work all the same.
 */
export async function makeRepository(root: PrivateRoot, packages: readonly StubPackage[]): Promise<void> {
  const script = ["set -e", setUp, ...packages.map(buildLine), "apt-get -q update"].join("\n");
  const { code, stdout, stderr } = await root.run(["/bin/sh"], { stdin: script });
  expect({ code, said: code === 0 ? "" : stdout + stderr }).toEqual({ code: 0, said: "" });
}

function buildLine({ name, version = "1.0", services = [] }: StubPackage): string {
  return ["build", name, version, ...services].map((word) => `'${word}'`).join(" ");
}

const setUp = `
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/repository ./' >/etc/apt/sources.list
mkdir -p /srv/repository
cd /srv/repository
build() {
  name=$1 version=$2
  shift 2
  mkdir -p build/DEBIAN build/lib/systemd/system
  printf 'Package: %s\\nVersion: %s\\nArchitecture: all\\nMaintainer: Test <test@example.com>\\nDescription: a stub\\n' "$name" "$version" >build/DEBIAN/control
  for service; do
    printf '[Service]\\nExecStart=/bin/sleep infinity\\nExecReload=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' >"build/lib/systemd/system/$service.service"
  done
  dpkg-deb --root-owner-group --build build stub.deb >/dev/null
  rm -rf build
  mv stub.deb "$name-$version.deb"
  cat >>Packages <<END
Package: $name
Version: $version
Architecture: all
Maintainer: Test <test@example.com>
Filename: ./$name-$version.deb
Size: $(stat -c %s "$name-$version.deb")
SHA256: $(sha256sum "$name-$version.deb" | cut -d' ' -f1)
Description: a stub

END
}
`;
