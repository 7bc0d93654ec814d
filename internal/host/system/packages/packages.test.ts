import { describe, expect, test } from "bun:test";
import { fixtureSystem, type SystemFixture } from "../../../../test/harness/system.ts";
import { apkPackages, parseApkUpdates } from "./apk.ts";
import { aptPackages, parsePolicy } from "./apt.ts";
import { parseDpkgStatus } from "./dpkg-status.ts";
import { fitsPattern, type PackageManager, refusePackageName, refusePackageVersion } from "./manager.ts";
import { packagesOf } from "./open.ts";
import { refreshIfDue } from "./refresh.ts";
import { parseDnfList, parseRpmList, rpmPackages } from "./rpm.ts";

const dpkgStatus = `Package: dpkg
Status: install ok installed
Architecture: amd64
Version: 1.21.22

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9
Description: GNU C library
 Version: not a field, as it is indented

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.36-8

Package: tzdata
Status: install ok installed
Architecture: all
Version: 2026a

Package: postfix
Status: install ok triggers-pending
Architecture: amd64
Version: 3.7.6
Provides: mail-transport-agent, postfix-api (= 2), default-mta:any

Package: nginx
Status: deinstall ok config-files
Architecture: amd64
Version: 1.22

Package: kept
Status: hold ok installed
Architecture: amd64
Version: 1

Package: half
Status: install reinstreq half-installed
Architecture: amd64
`;

test("installed packages of dpkg are read from its status file", () => {
  const { installed, leftovers, held, providers } = parseDpkgStatus(dpkgStatus);
  expect(Object.fromEntries(installed)).toEqual({
    dpkg: ["1.21.22"],
    libc6: ["2.36-9"],
    "libc6:i386": ["2.36-8"],
    tzdata: ["2026a"],
    postfix: ["3.7.6"],
    kept: ["1"],
  });
  expect([...held]).toEqual(["kept"]);
  expect([...leftovers]).toEqual(["nginx"]);
  expect(Object.fromEntries(providers)).toEqual({
    "mail-transport-agent": ["postfix"],
    "postfix-api": ["postfix"],
    "default-mta": ["postfix"],
  });
  expect(parseDpkgStatus("").installed.size).toBe(0);
});

test("newer versions of apt are read from its policy", () => {
  const text = `nginx:
  Installed: (none)
  Candidate: 1.22.1-9
  Version table:
     1.22.1-9 500
bash:
  Installed: 5.2-1
  Candidate: 5.2-1
ghost:
  Installed: (none)
  Candidate: (none)
openssl:
  Installed: 3.0.19
  Candidate: 3.0.22
`;
  expect(Object.fromEntries(parsePolicy(text))).toEqual({ nginx: "1.22.1-9", openssl: "3.0.22" });
});

test("installed packages of rpm are read from a query format", () => {
  const text =
    "bash\t5.1.8-9.el9\tx86_64\nvim-minimal\t2:8.2.2637-20.el9\tx86_64\nkernel\t5.14.0-1.el9\tx86_64\nkernel\t5.14.0-2.el9\tx86_64\nlibgcc\t11.4-3\tx86_64\nlibgcc\t11.4-3\ti686\ngpg-pubkey\t8483c65d-5ccc5b19\t(none)\n";
  expect(Object.fromEntries(parseRpmList(text))).toEqual({
    bash: ["5.1.8-9.el9"],
    "vim-minimal": ["2:8.2.2637-20.el9"],
    kernel: ["5.14.0-1.el9", "5.14.0-2.el9"],
    libgcc: ["11.4-3"],
  });
});

test("newer versions of dnf are read from its lists", () => {
  const text = `Last metadata expiration check: 0:01:02 ago on Sat.
Available Packages
nginx.x86_64             2:1.24.0-4.el9       appstream
nginx-core.x86_64        2:1.24.0-4.el9       appstream
java-1.8.0-openjdk.x86_64  1:1.8.0-1        appstream
Obsoleting Packages
`;
  expect(
    Object.fromEntries(parseDnfList(text, ["nginx", "java-1.8.0-openjdk", "nginx-core.x86_64"])),
  ).toEqual({
    nginx: "2:1.24.0-4.el9",
    "java-1.8.0-openjdk": "1:1.8.0-1",
    "nginx-core.x86_64": "2:1.24.0-4.el9",
  });
});

const apkDatabase = `C:Q1abc=
P:musl
V:1.2.4-r2
A:x86_64
p:so:libc.musl-x86_64.so.1=1

P:busybox
V:1.36.1-r5
p:/bin/sh cmd:ash=1.36.1-r5
`;

test("installed and newer versions of apk are read from its database and output", async () => {
  const system = fixtureSystem({
    files: { "/lib/apk/db/installed": apkDatabase },
    answer: () => ({ stdout: "Installed:    Available:\nmusl-1.2.4-r2   < 1.2.5-r0\nother-1-r0 < 2-r0\n" }),
  });
  const apk = apkPackages(system);
  expect(Object.fromEntries(await apk.installed())).toEqual({ musl: ["1.2.4-r2"], busybox: ["1.36.1-r5"] });
  expect(await apk.providers("/bin/sh")).toEqual(["busybox"]);
  expect(await apk.newest(["musl", "nothere"])).toEqual(new Map([["musl", "1.2.5-r0"]]));
  expect(system.ran).toEqual(["apk version -l < musl"]);
  expect(parseApkUpdates("", [])).toEqual(new Map());
});

const open: Record<
  string,
  (fixture: SystemFixture) => { system: ReturnType<typeof fixtureSystem>; packages: PackageManager }
> = {
  apt: (fixture) => withDriver(fixture, aptPackages),
  dnf: (fixture) => withDriver(fixture, (system) => rpmPackages(system, "dnf")),
  yum: (fixture) => withDriver(fixture, (system) => rpmPackages(system, "yum")),
  apk: (fixture) => withDriver(fixture, apkPackages),
};

function withDriver(
  fixture: SystemFixture,
  make: (system: ReturnType<typeof fixtureSystem>) => PackageManager,
) {
  const system = fixtureSystem(fixture);
  return { system, packages: make(system) };
}

const aptWords =
  "apt-get -q -y -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold -o DPkg::Lock::Timeout=120";
const list = {
  answer: (argv: readonly string[]) => (argv[0] === "rpm" ? { stdout: "old\t1:1.0-1\tx86_64\n" } : {}),
};

describe("the programs", () => {
  test.each<[string, (packages: PackageManager) => Promise<unknown>, string[]]>([
    ["apt", (p) => p.install([{ name: "a" }, { name: "b" }]), [`${aptWords} install a b`]],
    [
      "apt",
      (p) => p.install([{ name: "a", version: "1.2-3" }]),
      [`${aptWords} --allow-downgrades install a=1.2-3`],
    ],
    [
      "apt",
      (p) => p.install([{ name: "a" }], { from: "stable-backports", recommends: false, changesHeld: true }),
      [`${aptWords} -t stable-backports --no-install-recommends --allow-change-held-packages install a`],
    ],
    ["apt", (p) => p.newest(["a"], "sid"), ["apt-cache policy -t sid a"]],
    ["apt", (p) => p.hold?.(["a", "b"], true) ?? expect.unreachable(), ["apt-mark -q hold a b"]],
    ["apt", (p) => p.hold?.(["a"], false) ?? expect.unreachable(), ["apt-mark -q unhold a"]],
    ["apt", (p) => p.remove(["a"], false), [`${aptWords} remove a`]],
    ["apt", (p) => p.remove(["a"], true), [`${aptWords} purge a`]],
    ["apt", (p) => p.refresh(), [`${aptWords} update`]],
    ["apt", (p) => p.upgrade(), [`${aptWords} dist-upgrade`]],
    ["dnf", (p) => p.install([{ name: "a" }]), ["rpm -qa", "dnf -q -y install a"]],
    [
      "dnf",
      (p) => p.install([{ name: "old" }]),
      ["rpm -qa", "dnf -q -y install old", "dnf -q -y upgrade old"],
    ],
    [
      "dnf",
      (p) => p.install([{ name: "old", version: "0.9" }]),
      ["rpm -qa", "dnf -q -y install old-0.9", "rpm -q", "dnf -q -y downgrade old-0.9"],
    ],
    [
      "dnf",
      (p) => p.install([{ name: "old", version: "1.0" }]),
      ["rpm -qa", "dnf -q -y install old-1.0", "rpm -q"],
    ],
    ["dnf", (p) => p.remove(["a"], true), ["dnf -q -y remove a"]],
    [
      "dnf",
      (p) => p.newest(["old", "new"]),
      ["rpm -qa", "dnf -q check-update old", "dnf -q list available new"],
    ],
    [
      "dnf",
      (p) => p.install([{ name: "old", version: "0.9" }], { from: "epel", recommends: false }),
      [
        "rpm -qa",
        "dnf -q -y --disablerepo=* --enablerepo=epel --setopt=install_weak_deps=False install old-0.9",
        "rpm -q",
        "dnf -q -y --disablerepo=* --enablerepo=epel --setopt=install_weak_deps=False downgrade old-0.9",
      ],
    ],
    [
      "dnf",
      (p) => p.newest(["old"], "epel"),
      ["rpm -qa", "dnf -q --disablerepo=* --enablerepo=epel check-update old"],
    ],
    ["yum", (p) => p.upgrade(), ["yum -q -y update"]],
    ["apk", (p) => p.install([{ name: "a", version: "1-r0" }]), ["apk --no-progress add --upgrade a=1-r0"]],
    ["apk", (p) => p.install([{ name: "a", version: "1.2.*" }]), ["apk --no-progress add --upgrade a~1.2"]],
    ["apk", (p) => p.remove(["a"], true), ["apk --no-progress del --purge a"]],
    ["apk", (p) => p.upgrade(), ["apk --no-progress upgrade"]],
  ])("%s %#", async (name, run, expected) => {
    const { system, packages } = open[name]?.(list) ?? expect.unreachable();
    await run(packages);
    expect(system.ran.map((each) => each.replace(/ --queryformat.*/, ""))).toEqual(expected);
  });

  test("programs run non-interactively, and a failure contains their output", async () => {
    const seen: unknown[] = [];
    const system = fixtureSystem({
      answer: (_, options) => {
        seen.push(options.env);
        return { code: 100, stdout: "Reading…\n", stderr: "E: one\nE: Unable to locate package a\n" };
      },
    });
    const failing = aptPackages(system).install([{ name: "a" }]);
    await expect(failing).rejects.toThrow(
      "cannot install a: apt-get exited with 100: E: one; E: Unable to locate package a",
    );
    expect(seen).toMatchObject([{ DEBIAN_FRONTEND: "noninteractive" }]);
  });
});

test.each([
  ["1.2-3", "1.2-3", true],
  ["1.2*", "1.2-3", true],
  ["1.2*", "1.3", false],
  ["1.2", "1.2-3", false],
  ["1.*-3", "1.2-3", true],
  ["1.2", "1x2", false],
])("the version %s fits %s: %p", (wanted, version, expected) => {
  expect(fitsPattern(wanted, version)).toBe(expected);
});

test.each(["2:8.2-20.el9", "8.2-20.el9", "2:8.2", "8.2", "8.*"])(
  "rpm has 2:8.2-20.el9 when %s is asked for",
  (wanted) => {
    const { packages } = open.dnf?.({}) ?? expect.unreachable();
    expect(packages.fits(wanted, "2:8.2-20.el9")).toBe(true);
    expect(packages.fits(wanted, "2:9.0-20.el9")).toBe(false);
  },
);

test.each(["-o=x", "a b", "../a", "a=1", "", "a;b", "./a.deb"])("the package name %j is rejected", (name) => {
  expect(refusePackageName(name)).toContain("is not a valid package name");
});

test.each([">=1.2", "-1", "1 2", "$(x)"])("the version %j is rejected", (version) => {
  expect(refusePackageVersion(version)).toBeString();
});

describe("the package manager", () => {
  test.each([
    [{ programs: ["apt-get"] }, "apt"],
    [{ programs: ["dnf", "yum"] }, "dnf"],
    [{ programs: ["yum"] }, "yum"],
    [{ programs: ["apk"] }, "apk"],
  ])("of %j is %s", (fixture, name) => {
    expect(packagesOf(fixtureSystem(fixture)).name).toBe(name);
  });

  test("is an error that names the supported programs when none is found", () => {
    expect(() => packagesOf(fixtureSystem())).toThrow(
      "pkg: no supported package manager found: looked for apt-get, dnf, yum, apk",
    );
    expect(() => packagesOf(fixtureSystem({ facts: { pkg_manager: "pacman" } }))).toThrow(
      "; pacman is not supported",
    );
  });
});

test.each<[number, boolean | undefined, number]>([
  [3_600_000, undefined, 0],
  [3_600_001, undefined, 1],
  [0, true, 1],
  [9_999_999, false, 0],
])("sources that were looked at %d ms ago, refresh %p", async (now, refresh, runs) => {
  const system = fixtureSystem({ now, files: { "/var/lib/apt/lists/partial/x": "" } });
  await refreshIfDue(system, aptPackages(system), refresh);
  expect(system.ran.length).toBe(runs);
});
