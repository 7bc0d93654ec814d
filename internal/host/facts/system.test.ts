import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixtureHost, type HostFixture } from "../../../test/harness/facts.ts";
import { collectFacts } from "./collect.ts";
import { systemFacts } from "./system.ts";

const factsOf = async (fixture: HostFixture) =>
  (await collectFacts(systemFacts, fixtureHost(fixture), manualClock())).facts;

test.each([
  ["systemd", { "/run/systemd/system/x": "", "/proc/1/comm": "systemd\n" }],
  ["openrc", { "/run/openrc/softlevel": "", "/proc/1/comm": "init\n" }],
  ["sysvinit", { "/proc/1/comm": "init\n" }],
  ["tini", { "/proc/1/comm": "tini\n" }],
])("the init system %s", async (expected, files) => {
  expect((await factsOf({ files })).init).toBe(expected);
});

test.each([
  ["252", ["/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so"]],
  ["255", ["/usr/lib/systemd/libsystemd-shared-255.4-1ubuntu8.so"]],
  [undefined, []],
])("systemd %s", async (version, libraries) => {
  const paths = ["/usr/bin/systemctl", "/usr/bin/localectl", ...libraries];
  const files = Object.fromEntries(paths.map((path) => [path, ""]));
  expect((await factsOf({ files })).systemd).toEqual(version === undefined ? undefined : { version });
  // A container can have the one and not the other.
  const { [paths[1] ?? ""]: _, ...part } = files;
  expect((await factsOf({ files: part })).systemd).toBeUndefined();
});

test.each([
  ["apt", ["/usr/bin/apt-get"]],
  ["dnf", ["/usr/bin/dnf", "/usr/bin/yum"]],
  ["yum", ["/usr/bin/yum"]],
  ["zypper", ["/usr/bin/zypper"]],
  ["pacman", ["/usr/bin/pacman"]],
  ["apk", ["/sbin/apk"]],
])("the package manager %s", async (expected, paths) => {
  const files = Object.fromEntries(paths.map((path) => [path, ""]));
  expect((await factsOf({ files })).pkg_manager).toBe(expected);
});

test.each<[string | undefined, HostFixture]>([
  ["Europe/Berlin", { links: { "/etc/localtime": "../usr/share/zoneinfo/Europe/Berlin" } }],
  ["UTC", { links: { "/etc/localtime": "/usr/share/zoneinfo/posix/UTC" } }],
  ["Asia/Tokyo", { files: { "/etc/timezone": "Asia/Tokyo\n" } }],
  [undefined, {}],
])("the time zone %s", async (expected, fixture) => {
  expect((await factsOf(fixture)).timezone).toEqual(expected as never);
});

test("the user and the system", async () => {
  const facts = await factsOf({
    env: { PATH: "/usr/bin:/bin", SECRET: "x" },
    user: { uid: 998, gid: 997 },
    files: {
      "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nsvc:x:998:997::/var/lib/svc:/sbin/nologin\n",
      "/etc/group": "root:x:0:\nsvc:x:997:\n",
      "/etc/machine-id": "3d1219c7c4c5404aaa1f6d2a48adfda4\n",
      "/proc/sys/kernel/random/boot_id": "88908c3c-84bf-42a8-b483-478c3f07448a\n",
      "/sys/fs/selinux/enforce": "1",
      "/sys/module/apparmor/parameters/enabled": "Y\n",
    },
  });
  expect(facts).toEqual({
    boot_id: "88908c3c-84bf-42a8-b483-478c3f07448a",
    machine_id: "3d1219c7c4c5404aaa1f6d2a48adfda4",
    selinux: { enabled: true, enforced: "Enforcing" },
    apparmor: { enabled: true },
    path: "/usr/bin:/bin",
    uid: 998,
    gid: 997,
    username: "svc",
    groupname: "svc",
  });
});
