import { describe, expect, test } from "bun:test";
import { chownSync, lstatSync } from "node:fs";
import {
  planOn as planWith,
  problemsOf,
  refusal as refusalWith,
} from "../../../test/harness/planned-state.ts";
import type { SystemFixture } from "../../../test/harness/system.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import type { CallArgs } from "../../host/modules/function.ts";
import { type Plan, StateFailure } from "../function/function.ts";

const files = { "keys.pub": "ssh-ed25519 AAAAone one\nssh-ed25519 AAAAtwo two\n" };
const planOn = (fixture: SystemFixture, called: string, name: string, args: CallArgs = {}) =>
  planWith(fixture, called, name, args, { files });
const refusal = (fixture: SystemFixture, called: string, name: string, args: CallArgs = {}) =>
  refusalWith(fixture, called, name, args, { files });

async function failureOf(plan: Plan): Promise<StateFailure> {
  const thrown = await plan.apply?.().then(
    () => expect.unreachable(),
    (thrown: unknown) => thrown,
  );
  if (thrown instanceof StateFailure) return thrown;
  throw thrown;
}

const accounts = {
  "/etc/passwd":
    "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\nbin:x:2:2::/bin:/bin/sh\n",
  "/etc/group": "root:x:0:\nalice:x:1000:\nadm:x:4:alice\n",
  "/etc/shadow": "alice:$6$old$hash:1::\n",
};
const shadow = ["useradd", "crontab"];

test("a package of another system is refused when the state runs", async () => {
  const args = { pkgs: ["dev-vcs/git"] };
  expect(await problemsOf("pkg.installed", args)).toBe("");
  await expect(planOn({ files: {} }, "pkg.installed", "x", args)).rejects.toThrow(
    '"dev-vcs/git" is not a valid package name',
  );
  expect(await problemsOf("pkg.installed", { pkgs: ["a/../b"] })).toContain("is not a valid package name");
});

describe("arguments that are refused", () => {
  test.each<[string, CallArgs, string]>([
    ["pkg.installed", { pkgs: "nginx" }, "pkgs: expected a list of names"],
    ["pkg.installed", { pkgs: [["a"]] }, "pkgs: expected a list of names"],
    ["pkg.installed", { pkgs: ["a"], version: "1" }, "give the versions in pkgs"],
    ["pkg.installed", { pkgs: ["-o=x"] }, "is not a valid package name"],
    ["pkg.installed", { version: ">=1" }, "comparisons are not supported"],
    ["user.present", { password: "plain" }, "password: expected a hash such as $6$…"],
    ["user.present", { gid: ["x"] }, "gid: expected the id or name of a group"],
    ["user.present", { fullname: "a:b" }, "fullname: must not contain a colon or a line break"],
    ["user.present", { fullname: "Ann, Office" }, "fullname: must not contain a comma"],
    ["user.present", { workphone: "1,2" }, "workphone: must not contain a comma"],
    ["user.present", { other: "a\nb" }, "other: must not contain a colon or a line break"],
    ["user.present", { groups: ["-x"] }, "is not a valid user or group name"],
    ["group.present", { members: ["a"], addusers: ["b"] }, "give either members, or addusers and delusers"],
    ["group.present", { addusers: ["a"], delusers: ["a"] }, "a is both in addusers and in delusers"],
    ["cmd.run", { env: "A=1" }, "env: expected a map of names to strings"],
    ["cmd.run", { timeout: "soon" }, "timeout: expected a duration such as 90s"],
    ["cmd.run", { success_retcodes: "3" }, "success_retcodes: expected a list of integers"],
    ["cron.present", { minute: "5 4" }, "minute: expected a number"],
    ["cron.present", { special: "@daily", hour: 3 }, "give either special or hour"],
    ["cron.present", { special: "@often" }, "special: expected one of @reboot"],
    ["cron.present", { comment: "a\nb" }, "comment: must not contain a line break"],
    ["cron.env_present", { value: 'a"b' }, "value: must not contain a double quote"],
    ["sysctl.present", { value: "1\n2" }, "value: must not contain a line break"],
    ["host.present", { ip: ["somewhere"] }, '"somewhere" is not an IP address'],
    ["host.only", { hostnames: ["a b"] }, '"a b" is not a valid host name'],
    ["mount.mounted", { device: "-o x", fstype: "ext4" }, "device: expected a device"],
    ["mount.mounted", { device: "x", fstype: "ext4", opts: ["a b"] }, "must not contain white space"],
    ["ssh_auth.present", { user: "a", options: ["x\ny"] }, "must not contain a line break"],
    ["systemd.unit_managed", {}, "give either contents or source"],
  ])("%s %j", async (called, args, expected) => {
    expect(await problemsOf(called, args)).toContain(expected);
  });
});

describe("dangerous changes are rejected before anything is done", () => {
  test.each<[string, string, CallArgs, string]>([
    ["user.absent", "root", {}, "root is root and is never removed"],
    [
      "user.absent",
      "bin",
      { purge: true },
      "/bin is not the home directory of bin alone and is not removed; run without purge",
    ],
    ["group.absent", "root", {}, "root is the group of root and is never removed"],
    ["mount.unmounted", "/usr", {}, "/usr is never unmounted, because the host needs it"],
    ["mount.unmounted", "/srv/../usr", {}, "is not an absolute path"],
    ["systemd.unit_managed", "../x.service", { contents: ["x"] }, "is not a valid unit name"],
    [
      "systemd.unit_managed",
      "x.service",
      { contents: [""] },
      "the unit file is empty, which would mask the unit",
    ],
    ["hostname.system", "-bad-", {}, "is not a valid host name"],
    ["timezone.system", "../../etc/passwd", {}, "unknown time zone on this host"],
    ["sysctl.present", "net.none", { value: "1" }, "the kernel has no parameter net.none"],
    ["pkg.removed", "-y", {}, "is not a valid package name"],
    ["service.dead", "--all", {}, "is not a valid service name"],
    ["ssh_auth.present", "no key", { user: "alice" }, "is not a public key"],
    ["ssh_auth.present", "x", { user: "alice", source: ["svc://none"] }, "source svc://none does not exist"],
    ["cron.present", "a\nb", {}, "must not contain a line break"],
  ])("%s %s", async (called, name, args, expected) => {
    const files = { ...accounts, "/usr/share/zoneinfo/UTC": "", "/etc/init.d/x": "" };
    const programs = ["apt-get", "systemctl", ...shadow];
    expect(await refusal({ files, programs }, called, name, args)).toContain(expected);
  });
});

describe("users", () => {
  test("a password is set and not shown", async () => {
    const fixture = { files: accounts, programs: shadow };
    const { plan, system } = await planOn(fixture, "user.present", "alice", { password: "$6$new$hash" });
    expect(plan.changes).toEqual({ password: "(hidden)" });
    expect(system.ran).toEqual([]);
    await plan.apply?.();
    expect(system.ran).toEqual(["chpasswd -e"]);
    const same = await planOn(fixture, "user.present", "alice", { password: "$6$old$hash" });
    expect(same.plan.apply).toBeUndefined();
    const kept = await planOn(fixture, "user.present", "alice", {
      password: "$6$new$hash",
      enforce_password: false,
    });
    expect(kept.plan.apply).toBeUndefined();
  });

  test("the primary group is not a supplementary group, and optional groups may be missing", async () => {
    const fixture = { files: accounts, programs: shadow };
    const fine = await planOn(fixture, "user.present", "alice", {
      groups: ["adm", "alice"],
      optional_groups: ["none"],
    });
    expect(fine.plan.apply).toBeUndefined();
    const { plan } = await planOn(fixture, "user.present", "alice", { groups: [] });
    expect(plan.changes).toEqual({ groups: { old: ["adm"], new: [] } });
    const kept = await planOn(fixture, "user.present", "alice", { groups: [], remove_groups: false });
    expect(kept.plan.apply).toBeUndefined();
    const fresh = await planOn(fixture, "user.present", "dave", { groups: ["dave"] });
    expect(fresh.plan.changes).toEqual({ dave: "added" });
  });

  test("a failure contains the changes made before it", async () => {
    const { plan } = await planOn(
      {
        files: accounts,
        programs: shadow,
        answer: (argv) => (argv[0] === "usermod" ? {} : { code: 1, stderr: "no such thing\n" }),
      },
      "user.present",
      "alice",
      { shell: "/bin/zsh", password: "$6$new$hash" },
    );
    expect(Object.keys(plan.changes)).toEqual(["shell", "password"]);
    expect(await failureOf(plan)).toMatchObject({
      message: "cannot set the password of alice: chpasswd exited with 1: no such thing",
      changes: { shell: { old: "/bin/sh", new: "/bin/zsh" } },
    });
  });
});

describe("a prerequisite that an earlier state may create", () => {
  test("does not fail a test, only the run", async () => {
    const systemd = { facts: { init: "systemd" }, files: accounts, programs: shadow };
    const service = await planOn(systemd, "service.running", "nginx", { enable: true });
    expect(service.plan.comment).toBe("nginx would be started once it exists");
    expect((await failureOf(service.plan)).message).toBe("service nginx does not exist (systemd)");
    const enabled = await planOn(systemd, "service.enabled", "nginx");
    expect(enabled.plan.changes).toEqual({ "nginx at boot": { old: "disabled", new: "enabled" } });
    expect((await failureOf(enabled.plan)).message).toBe("service nginx does not exist (systemd)");
    const cron = await planOn(systemd, "cron.present", "/bin/x", { user: "dave" });
    expect((await failureOf(cron.plan)).message).toBe("user dave does not exist on this host");
    const key = await planOn(systemd, "ssh_auth.present", "ssh-rsa AAAA", { user: "dave" });
    expect((await failureOf(key.plan)).message).toBe("user dave does not exist on this host");
    const group = await planOn(systemd, "user.present", "alice", { groups: ["adm", "new"] });
    expect((await failureOf(group.plan)).message).toBe("group new does not exist");
  });

  test("is not needed to be absent", async () => {
    const fixture = { facts: { init: "systemd" }, files: accounts, programs: shadow };
    for (const [called, name, args] of [
      ["service.dead", "nginx", {}],
      ["service.disabled", "nginx", {}],
      ["cron.absent", "/bin/x", { user: "dave" }],
      ["ssh_auth.absent", "ssh-rsa AAAA", { user: "dave" }],
      ["user.absent", "dave", {}],
      ["group.absent", "crew", {}],
    ] as const) {
      const { plan } = await planOn(fixture, called, name, args);
      expect(plan.apply).toBeUndefined();
    }
  });
});

describe("packages", () => {
  const status = "Package: bash\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2\n";
  const apt = (answer?: SystemFixture["answer"]): SystemFixture => ({
    programs: ["apt-get"],
    files: { "/var/lib/dpkg/status": status },
    ...(answer === undefined ? {} : { answer }),
  });

  test("a package that the program did not install is a failure", async () => {
    const { plan } = await planOn(apt(), "pkg.installed", "nginx");
    expect(plan.changes).toEqual({ nginx: { old: "", new: "latest" } });
    expect((await failureOf(plan)).message).toBe("apt did not install nginx and reported no error");
    const other = await planOn(apt(), "pkg.installed", "bash", { version: "5.3" });
    expect((await failureOf(other.plan)).message).toBe("bash is 5.2 instead of 5.3: apt did not change it");
  });

  test("several are installed by one program run, and inspected without any", async () => {
    const { plan, system } = await planOn(apt(), "pkg.installed", "them", {
      pkgs: ["bash", { vim: "2:9.0", nano: null }, { python: 3 }],
    });
    expect(plan.changes).toEqual({
      vim: { old: "", new: "2:9.0" },
      nano: { old: "", new: "latest" },
      python: { old: "", new: "3" },
    });
    expect(system.ran).toEqual([]);
    await plan.apply?.().catch(() => undefined);
    expect(system.ran).toEqual([expect.stringMatching(/^apt-get .* install vim=2:9.0 nano python=3$/)]);
  });

  test("the newest version is requested, and none is newer", async () => {
    const said = (text: string) => apt(() => ({ stdout: text }));
    const fine = await planOn(said("bash:\n  Installed: 5.2\n  Candidate: 5.2\n"), "pkg.latest", "bash");
    expect(fine.plan.apply).toBeUndefined();
    const { plan } = await planOn(said("bash:\n  Installed: 5.2\n  Candidate: 5.3\n"), "pkg.latest", "bash");
    expect(plan.changes).toEqual({ bash: { old: "5.2", new: "5.3" } });
  });
});

describe("services", () => {
  const units = "Id=nginx.service\nNames=nginx.service\nActiveState=failed\nSubState=failed\n";
  const fixture: SystemFixture = {
    facts: { init: "systemd" },
    files: { "/usr/lib/systemd/system/nginx.service": "[Install]\nWantedBy=x\n" },
    answer: () => ({ stdout: units }),
  };

  test("one that does not keep running is a failure", async () => {
    const { plan } = await planOn(fixture, "service.running", "nginx");
    expect(plan.changes).toEqual({ nginx: { old: "failed", new: "running" } });
    expect((await failureOf(plan)).message).toBe("nginx was started, but is now failed");
  });

  test("a static one cannot be enabled, and a masked one cannot run", async () => {
    const files = { "/usr/lib/systemd/system/nginx.service": "[Service]\n" };
    const still = await planOn({ ...fixture, files }, "service.enabled", "nginx");
    expect(still.plan.comment).toBe("nginx is static: other units start it, and it cannot be enabled");
    const links = { "/etc/systemd/system/nginx.service": "/dev/null" };
    expect(await refusal({ ...fixture, links }, "service.enabled", "nginx")).toContain("nginx is masked");
  });

  test("many of them need one query", async () => {
    const { context, found, system } = await planOn(fixture, "service.running", "nginx");
    for (const name of ["a", "b", "c"]) await found.plan(name, {}, context);
    expect(system.ran.length).toBe(1);
  });
});

test("with purge, a home directory is only removed when it belongs to the user alone", async () => {
  using directory = temporaryDirectory("home");
  const own = lstatSync(directory.path).uid;
  const planOf = (uid: number) => {
    const passwd = `alice:x:${uid}:1000::${directory.path}:/bin/sh\n`;
    return planOn({ files: { "/etc/passwd": passwd }, programs: shadow }, "user.absent", "alice", {
      purge: true,
    });
  };
  await expect(planOf(own + 1)).rejects.toThrow("is not the home directory of alice alone");
  chownSync(directory.path, own + 1, -1);
  expect((await planOf(own + 1)).plan.changes).toEqual({ alice: "removed" });
});

test("keys of a file are one change each, with options for all", async () => {
  const home = { "/etc/passwd": "alice:x:1000:1000::/home/svc-test-none:/bin/sh\n" };
  const { plan } = await planOn({ files: home }, "ssh_auth.present", "them", {
    user: "alice",
    source: ["svc://keys.pub"],
    options: ["no-pty"],
  });
  expect(plan.changes).toEqual({
    "one …AAAAone": { old: "", new: "ssh-ed25519 with no-pty" },
    "two …AAAAtwo": { old: "", new: "ssh-ed25519 with no-pty" },
  });
});

test("a kernel parameter that the kernel adjusts is a failure", async () => {
  const files = { "/proc/sys/vm/swappiness": "60\n" };
  const { plan, system } = await planOn({ files }, "sysctl.present", "vm.swappiness", { value: "10" });
  expect(plan.changes).toEqual({
    "vm.swappiness": { old: "60", new: "10" },
    "/etc/sysctl.d/99-svc.conf": { old: "", new: "10" },
  });
  await plan.apply?.();
  expect(system.read("/etc/sysctl.d/99-svc.conf")).toBe("vm.swappiness = 10\n");
  const stubborn = await planOn({ files }, "sysctl.present", "vm.swappiness", { value: "10" });
  stubborn.system.poke = () => undefined;
  expect((await failureOf(stubborn.plan)).message).toBe(
    "the kernel changed the value of vm.swappiness to 60",
  );
});

test("a mount does not hide another one, and changed options are remounted", async () => {
  const files = {
    "/proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 8:2 / /srv rw - ext4 /dev/sdb1 rw\n",
    "/etc/fstab": "/dev/sdb1 /srv ext4 defaults 0 0\n",
  };
  const args = { device: "/dev/sdb1", fstype: "ext4" };
  expect((await planOn({ files }, "mount.mounted", "/srv", args)).plan.apply).toBeUndefined();
  const { plan, system } = await planOn({ files }, "mount.mounted", "/srv", { ...args, opts: ["ro"] });
  await plan.apply?.();
  expect(system.ran).toEqual(["mount -o remount,ro /srv"]);
  expect(system.read("/etc/fstab")).toBe("/dev/sdb1\t/srv\text4\tro\t0\t0\n");
  expect(await refusal({ files }, "mount.mounted", "/srv", { ...args, device: "/dev/sdc1" })).toBe(
    "/dev/sdb1 is mounted on /srv instead of /dev/sdc1; unmount it first",
  );
  const links = { "/dev/disk/by-uuid/1-2": "../../sdb1" };
  const byId = await planOn({ files, links }, "mount.mounted", "/srv", {
    ...args,
    device: "UUID=1-2",
    persist: false,
  });
  expect(byId.plan.apply).toBeUndefined();
});

describe("who a user is", () => {
  const passwd = (gecos: string) => `ann:x:1:1:${gecos}:/home/ann:/bin/sh\n`;
  const files = (gecos: string) => ({ "/etc/passwd": passwd(gecos), "/etc/group": "ann:x:1:\n" });
  test.each<[string, CallArgs, string | undefined]>([
    // The other parts of the field stay.
    ["Anne,12,555,,x,y", { fullname: "Ann" }, "Ann,12,555,,x,y"],
    ["Ann,12,555,,x,y", { fullname: "Ann", other: "x,y", roomnumber: "12" }, undefined],
    ["Ann", { homephone: "777" }, "Ann,,,777"],
    ["Ann,12", { roomnumber: "" }, "Ann"],
    ["Ann,,,", { fullname: "Ann", other: "" }, undefined],
    ["Zoë", { fullname: "Zoë" }, undefined],
  ])("%j with %j is written as %j", async (before, args, after) => {
    const { plan, system } = await planOn(
      { files: files(before), programs: ["useradd"] },
      "user.present",
      "ann",
      args,
    );
    await plan.apply?.();
    expect(system.ran).toEqual(after === undefined ? [] : [`usermod -c ${after} ann`]);
  });

  test("a new user has all of it", async () => {
    const args = { fullname: "Ann", workphone: "555", other: "a, b", createhome: false };
    const { plan, system } = await planOn({ files: {}, programs: ["useradd"] }, "user.present", "ann", args);
    await plan.apply?.();
    expect(system.ran).toEqual(["useradd -M -U -c Ann,,555,,a, b ann"]);
    expect(plan.changes).toEqual({ ann: "added", fullname: "Ann", workphone: "555", other: "a, b" });
  });
});
