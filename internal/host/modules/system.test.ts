import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { fixedSettings } from "../../../test/harness/settings.ts";
import { fixtureSystem, type SystemFixture } from "../../../test/harness/system.ts";
import type { CallArgs } from "./function.ts";
import { checkCall } from "./registry.ts";

/** Calls a function on a fake host. */
async function call(fixture: SystemFixture, name: string, args: CallArgs = {}) {
  const system = fixtureSystem(fixture);
  const context = {
    clock: manualClock(),
    signal: new AbortController().signal,
    facts: fixedFacts({}),
    settings: fixedSettings(),
    cache: new Map<string, unknown>([["system", system]]),
  };
  return { value: await checkCall(name, args).run(args, context), ran: system.ran };
}

const host: SystemFixture = {
  facts: { init: "systemd" },
  programs: ["apt-get", "crontab"],
  files: {
    "/var/lib/dpkg/status":
      "Package: bash\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2\n",
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:100:Alice:/home/alice:/bin/sh\n",
    "/etc/group": "users:x:100:\nadm:x:4:alice\n",
    "/etc/hosts": "::1 localhost ip6-localhost\n",
    "/proc/sys/kernel/panic": "10\n",
    "/usr/lib/systemd/system/nginx.service": "[Install]\nWantedBy=multi-user.target\n",
  },
  links: { "/etc/localtime": "/usr/share/zoneinfo/Europe/Berlin" },
  answer: (argv) => {
    if (argv[0] === "crontab") return { stdout: "# svc:x\n0 1 * * * /bin/x\n" };
    if (argv[0] === "apt-cache") return { stdout: "bash:\n  Installed: 5.2\n  Candidate: 5.3\n" };
    return argv[1] === "show" ? { stdout: "Id=nginx.service\nActiveState=active\nSubState=running\n" } : {};
  },
};

test.each<[string, CallArgs, unknown]>([
  ["pkg.list_pkgs", {}, { bash: "5.2" }],
  ["pkg.version", { names: ["bash", "vim"] }, { bash: "5.2", vim: "" }],
  ["pkg.list_upgrades", { refresh: false }, { bash: "5.3" }],
  ["pkg.install", { names: ["vim"] }, {}],
  ["service.status", { name: "nginx" }, { active: true, state: "running", enablement: "disabled" }],
  ["service.get_all", {}, ["nginx"]],
  ["service.available", { name: "apache2" }, false],
  ["service.enabled", { name: "nginx" }, false],
  ["service.start", { name: "nginx" }, true],
  ["service.systemctl_reload", {}, true],
  ["user.list_users", {}, ["alice", "root"]],
  [
    "user.info",
    { name: "alice" },
    {
      name: "alice",
      uid: 1000,
      gid: 100,
      fullname: "Alice",
      ...{ roomnumber: "", workphone: "", homephone: "", other: "" },
      home: "/home/alice",
      shell: "/bin/sh",
      groups: ["adm"],
    },
  ],
  ["group.list_groups", {}, ["adm", "users"]],
  ["group.info", { name: "adm" }, { name: "adm", gid: 4, members: ["alice"] }],
  [
    "cron.list_tab",
    {},
    {
      entries: [{ identifier: "x", schedule: "0 1 * * *", command: "/bin/x" }],
      text: "# svc:x\n0 1 * * * /bin/x\n",
    },
  ],
  ["hosts.list_hosts", {}, { "::1": ["localhost", "ip6-localhost"] }],
  ["sysctl.get", { name: "kernel.panic" }, "10"],
  ["timezone.get_zone", {}, "Europe/Berlin"],
])("%s %j", async (name, args, expected) => {
  expect((await call(host, name, args)).value).toEqual(expected as never);
});

test.each<[string, CallArgs, string]>([
  ["pkg.install", { names: [] }, "pkg.install: names: expected at least one package"],
  ["pkg.install", { names: ["a", "b"], version: "1" }, "pkg.install: version: requires exactly one package"],
  ["pkg.remove", { names: ["--all"] }, 'pkg.remove: "--all" is not a valid package name'],
  ["service.start", { name: "apache2" }, 'service "apache2" does not exist on this host (systemd)'],
  ["service.start", { name: "-x" }, 'service.start: "-x" is not a valid service name'],
  ["user.info", { name: "bob" }, 'user "bob" does not exist on this host'],
  ["group.info", { name: "bob" }, 'group "bob" does not exist on this host'],
  ["sysctl.get", { name: "kernel.none" }, 'the kernel has no parameter "kernel.none"'],
])("%s %j fails", async (name, args, message) => {
  await expect(call(host, name, args)).rejects.toThrow(message);
});

test("a removal runs one program, and reports the removed packages", async () => {
  const { ran, value } = await call(host, "pkg.purge", { names: ["bash"] });
  expect(ran).toEqual([expect.stringMatching(/^apt-get .* purge bash$/)]);
  expect(value).toEqual({});
});
