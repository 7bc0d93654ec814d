import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { installPackages } from "../harness/host-packages.ts";
import { hostTimeoutMs, openPrivateRoot } from "../harness/private-root.ts";
import { brief, output, roundTrip } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

describe("on a machine without a service manager", () => {
  test("locales, and answers for packages", async () => {
    await using root = await openPrivateRoot();
    const states = `
de_DE.UTF-8:
  locale.present: []
default:
  locale.system: [{ name: de_DE.UTF-8 }]
tzdata:
  debconf.set:
    - data:
        tzdata/Areas: { type: select, value: Europe }
        tzdata/secret: { type: password, value: it's hidden }
`;
    const ids = ["de_DE.UTF-8", "default", "tzdata"];
    const all = (result: string) => ids.map((id) => `${id}:${result}`).join(" ");
    const probe = "locale -a; cat /etc/default/locale /etc/locale.gen; debconf-show tzdata | sort";
    const before = await output(root, probe);
    expect(await brief(root, states, { test: true })).toBe(all("null+"));
    expect(await output(root, probe)).toBe(before);
    const applied = await root.apply(states);
    expect(applied.map(({ id, result }) => `${id}:${result}`).join(" ")).toBe(
      ids.map((id) => `${id}:true`).join(" "),
    );
    expect(JSON.stringify(applied)).not.toContain("hidden");
    expect(await output(root, "LC_ALL=de_DE.UTF-8 locale charmap; cat /etc/default/locale")).toContain(
      "\nLANG=de_DE.UTF-8",
    );
    expect(await output(root, "debconf-show tzdata; cat /var/cache/debconf/passwords.dat")).toMatch(
      /tzdata\/Areas: Europe.*Name: tzdata\/secret.*Value: it's hidden/s,
    );
    expect(await brief(root, states)).toBe(all("true"));
  });

  test("users and groups", async () => {
    await using root = await openPrivateRoot();
    const there = `
svc-test-crew:
  group.present:
    - gid: 4300
svc-test-user:
  user.present:
    - uid: 4301
    - gid: svc-test-crew
    - fullname: Test User
    - shell: /bin/sh
    - home: /home/svc-test-user
    - groups: [adm, svc-test-more]
    - password: "$6$salt$notarealhash"
    - require: [{group: svc-test-more}]
svc-test-more:
  group.present: []
`;
    const gone = `
svc-test-user:
  user.absent:
    - purge: true
svc-test-crew:
  group.absent: []
svc-test-more:
  group.absent: []
`;
    const probe =
      "grep svc-test /etc/passwd /etc/group /etc/shadow | sed 's/:[0-9]*:0:99999.*//'; ls -d /home/svc-test*";
    const before = await output(root, probe);
    expect(await brief(root, there, { test: true })).toBe(
      "svc-test-crew:null+ svc-test-more:null+ svc-test-user:null+",
    );
    expect(await output(root, probe)).toBe(before);
    const applied = await root.apply(there);
    expect(applied.map(({ id, result }) => `${id}:${result}`).join(" ")).toBe(
      "svc-test-crew:true svc-test-more:true svc-test-user:true",
    );
    expect(JSON.stringify(applied)).not.toContain("notarealhash");
    expect(await brief(root, there)).toBe("svc-test-crew:true svc-test-more:true svc-test-user:true");
    const shown = await output(root, probe);
    expect(shown).toContain("svc-test-user:x:4301:4300:Test User:/home/svc-test-user:/bin/sh");
    expect(shown).toContain("/etc/shadow:svc-test-user:$6$salt$notarealhash");
    expect(shown).toMatch(/\/etc\/group:adm:.:4:.*svc-test-user/);
    const changed = there
      .replace("shell: /bin/sh", "shell: /bin/bash")
      .replace("[adm, svc-test-more]", "[adm]");
    expect(await root.apply(changed)).toMatchObject([
      { changes: {} },
      { changes: {} },
      {
        changes: {
          shell: { old: "/bin/sh", new: "/bin/bash" },
          groups: { old: ["adm", "svc-test-more"], new: ["adm"] },
        },
      },
    ]);
    expect(await brief(root, gone)).toBe("svc-test-user:true+ svc-test-crew:true+ svc-test-more:true+");
    expect(await brief(root, gone)).toBe("svc-test-user:true svc-test-crew:true svc-test-more:true");
    expect(await output(root, probe)).toBe(before);
  });

  test("hosts, keys, time zone, host name, a setting of the kernel and a mount", async () => {
    await using root = await openPrivateRoot();
    await output(root, "useradd -m svc-test-user; mkdir -p /srv/svc-test");
    const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtlZXBzIHRoaXMgYXMgYSB0ZXN0IGtleSBvbmx5ISE=";
    const there = `
db-1.test:
  host.present: [{ip: [10.1.2.3, "fd00::1"]}]
${key} someone:
  ssh_auth.present: [{user: svc-test-user}, {options: [no-pty, 'from="10.0.0.0/8"']}]
Europe/Berlin:
  timezone.system: []
svc-test-name.example:
  hostname.system: []
net.ipv4.ip_forward:
  sysctl.present: [{value: 1}]
/srv/svc-test/disk:
  mount.mounted: [{device: tmpfs}, {fstype: tmpfs}, {opts: "size=1m"}, {mkmnt: true}]
`;
    const gone = `
db-1.test:
  host.absent: []
${key} someone:
  ssh_auth.absent: [{user: svc-test-user}]
Etc/UTC:
  timezone.system: []
svc-test-other:
  hostname.system: []
net.ipv4.ip_forward:
  sysctl.present: [{value: 0}]
/srv/svc-test/disk:
  mount.unmounted: [{persist: true}]
`;
    const probe = `
grep db-1 /etc/hosts; ls -l /home/svc-test-user/.ssh/authorized_keys | cut -d' ' -f1-4; cat /home/svc-test-user/.ssh/authorized_keys
readlink /etc/localtime; hostname; cat /etc/hostname; cat /proc/sys/net/ipv4/ip_forward; cat /etc/sysctl.d/99-svc.conf
grep svc-test /proc/mounts /etc/fstab`;
    const before = await output(root, probe);
    const count = there.match(/^\S.*:$/gm)?.length ?? 0;
    expect(await brief(root, there, { test: true })).toMatch(new RegExp(`^(\\S.*?:null\\+ ?){${count}}$`));
    expect(await output(root, probe)).toBe(before);
    expect(await brief(root, there)).not.toContain("true ");
    const shown = await output(root, probe);
    expect(shown).toContain(
      "10.1.2.3\t\tdb-1.test\nfd00::1\t\tdb-1.test\n-rw------- 1 svc-test-user svc-test-user",
    );
    expect(shown).toContain(`no-pty,from="10.0.0.0/8" ${key} someone\n`);
    expect(shown).toContain(
      "/usr/share/zoneinfo/Europe/Berlin\nsvc-test-name.example\nsvc-test-name.example\n1\n",
    );
    expect(shown).toContain("/etc/fstab:tmpfs\t/srv/svc-test/disk\ttmpfs\tsize=1m\t0\t0");
    expect(shown).toContain("/proc/mounts:tmpfs /srv/svc-test/disk tmpfs rw,relatime,size=1024k");
    expect(await brief(root, there)).not.toContain("+");
    expect(await brief(root, gone)).not.toContain("true ");
    expect(await brief(root, gone)).not.toContain("+");
    const left = await output(root, probe);
    expect(left).not.toContain("db-1");
    expect(left).not.toContain(key);
    expect(left).not.toContain("/srv/svc-test/disk");
  });

  test("commands and scripts", async () => {
    await using root = await openPrivateRoot();
    const sls = `
once:
  cmd.run:
    - name: echo "$WORD as $(id -un)" >/tmp/svc-test-once; echo said
    - runas: nobody
    - env: [{WORD: made}]
    - creates: /tmp/svc-test-once
after:
  cmd.wait:
    - name: echo again >>/tmp/svc-test-after
    - watch: [{cmd: once}]
svc://hello.sh:
  cmd.script: [{args: "a 'b c'"}, {creates: /tmp/svc-test-script}]
fails:
  cmd.run: [{name: echo no >&2; exit 3}, {unless: test -e /tmp/svc-test-script}]
accepted:
  cmd.run: [{name: exit 3}, {success_retcodes: [3]}, {unless: test -e /tmp/svc-test-done}]
done:
  cmd.run: [{name: touch /tmp/svc-test-done}, {creates: /tmp/svc-test-done}]
`;
    await output(
      root,
      `mkdir -p /tmp/states; printf '#!/bin/sh\\necho "$#:$2" >/tmp/svc-test-script\\nrm -rf "$0"\\n' >/tmp/states/hello.sh; chmod 1777 /tmp`,
    );
    const tested = await brief(root, sls, { test: true });
    expect(tested).toBe("once:null+ after:null+ svc://hello.sh:null+ fails:null+ accepted:null+ done:null+");
    expect(await output(root, "ls -d /tmp/states /tmp/svc-test-* 2>/dev/null || true")).toBe("/tmp/states");
    const first = await root.apply(sls);
    expect(first.map(({ id, result }) => `${id}:${result}`).join(" ")).toBe(
      "once:true after:true svc://hello.sh:true fails:true accepted:true done:true",
    );
    expect(first[0]?.changes).toMatchObject({ retcode: 0, stdout: "said\n", stderr: "" });
    expect(await output(root, "cat /tmp/svc-test-*; cd /tmp; ls -d states svc-test-*")).toBe(
      "again\nmade as nobody\n2:b c\nstates\nsvc-test-after\nsvc-test-done\nsvc-test-once\nsvc-test-script",
    );
    expect(await brief(root, sls)).toBe(
      "once:true after:true svc://hello.sh:true fails:true accepted:true done:true",
    );
    const [failed] = await root.apply("x:\n  cmd.run: [{name: echo no >&2; exit 3}]\n");
    expect(failed).toMatchObject({
      result: false,
      comment: "the command exited with 3",
      changes: { retcode: 3, stderr: "no\n" },
    });
  });

  test("crontabs", async () => {
    await using root = await openPrivateRoot();
    await installPackages(root, "cron");
    await output(root, "useradd svc-test-user");
    await output(root, "printf '# mine\\n0 1 * * * /bin/own\\n' | crontab -u svc-test-user -");
    const there = `
/usr/bin/backup --all:
  cron.present: [{user: svc-test-user}, {minute: "*/5"}, {hour: 3}, {identifier: nightly}, {comment: Backup}]
MAILTO:
  cron.env_present: [{user: svc-test-user}, {value: ops@example.com}]
/bin/hello:
  cron.present: [{user: svc-test-user}, {special: "@daily"}]
`;
    const gone = `
/usr/bin/backup --all:
  cron.absent: [{user: svc-test-user}, {identifier: nightly}]
MAILTO:
  cron.env_absent: [{user: svc-test-user}]
/bin/hello:
  cron.absent: [{user: svc-test-user}]
`;
    const ids = ["/usr/bin/backup --all", "MAILTO", "/bin/hello"];
    const seen = await roundTrip(root, { there, gone, ids }, "crontab -u svc-test-user -l");
    expect(seen.before).toBe("# mine\n0 1 * * * /bin/own");
    expect(seen.there).toBe(
      '# mine\nMAILTO="ops@example.com"\n0 1 * * * /bin/own\n# svc:nightly Backup\n*/5 3 * * * /usr/bin/backup --all\n@daily /bin/hello',
    );
    expect(seen.gone).toBe(seen.before);
  });

  test("who a user is, judged by getent and chfn", async () => {
    await using root = await openPrivateRoot();
    const gecos = "getent passwd svc-test-user | cut -d: -f5";
    const state = (args: string) => `svc-test-user:\n  user.present: [{createhome: false}, ${args}]\n`;
    const first = state('{fullname: Ann}, {roomnumber: "12"}, {other: "a, b"}');
    expect(await brief(root, first)).toBe("svc-test-user:true+");
    expect(await brief(root, first)).toBe("svc-test-user:true");
    expect(await output(root, gecos)).toBe("Ann,12,,,a, b");
    await output(root, "chfn -w 555 svc-test-user");
    expect(await brief(root, state("{fullname: Anne}"))).toBe("svc-test-user:true+");
    expect(await output(root, gecos)).toBe("Anne,12,555,,a, b");
  });

  test("a crontab that Salt wrote, judged by crontab itself", async () => {
    await using root = await openPrivateRoot();
    await installPackages(root, "cron");
    const salt = `MAILTO=me@example.com
0 1 * * * /bin/own # caf\xe9
# Lines below here are managed by Salt, do not edit
PATH=/usr/bin:/bin
# Back up SALT_CRON_IDENTIFIER:nightly-backup
30 2 * * * /usr/local/bin/backup --all
# SALT_CRON_IDENTIFIER:/bin/sync --now
#DISABLED#*/5 * * * * /bin/sync --now
# SALT_CRON_IDENTIFIER:hello
@daily /bin/hello
`;
    const list = async () => {
      const { stdout } = await root.run(["/bin/sh", "-c", "crontab -u root -l | base64"]);
      return Buffer.from(stdout, "base64").toString("latin1");
    };
    expect(
      (await root.run(["crontab", "-u", "root", "-"], { stdin: Buffer.from(salt, "latin1") })).code,
    ).toBe(0);
    const same = `
backup:
  cron.present: [{name: /usr/local/bin/backup --all}, {identifier: nightly-backup}, {minute: 30}, {hour: 2}, {comment: Back up}]
/bin/sync --now:
  cron.present: [{minute: "*/5"}, {commented: true}]
/bin/hello:
  cron.present: [{identifier: hello}, {special: "@daily"}]
PATH:
  cron.env_present: [{value: "/usr/bin:/bin"}]
`;
    const ids = ["backup", "/bin/sync --now", "/bin/hello", "PATH"];
    expect(await brief(root, same)).toBe(ids.map((id) => `${id}:true`).join(" "));
    expect(await list()).toBe(salt);
    const changed = same
      .replace("minute: 30", "minute: 31")
      .replace("{commented: true}", "{commented: false}");
    expect(await brief(root, changed)).toBe("backup:true+ /bin/sync --now:true+ /bin/hello:true PATH:true");
    expect(await brief(root, changed)).toBe(ids.map((id) => `${id}:true`).join(" "));
    expect(await list()).toBe(
      salt
        .replace("# Back up SALT_CRON_IDENTIFIER:nightly-backup\n30", "# svc:nightly-backup Back up\n31")
        .replace("# SALT_CRON_IDENTIFIER:/bin/sync --now\n#DISABLED#", ""),
    );
    const gone = `
any:
  cron.absent: [{identifier: nightly-backup}]
/bin/sync --now:
  cron.absent: []
PATH:
  cron.env_absent: []
`;
    expect(await brief(root, gone)).toBe("any:true+ /bin/sync --now:true+ PATH:true+");
    expect(await list()).toBe(
      salt
        .split("\n")
        .filter((line) => !/PATH|backup|sync/.test(line))
        .join("\n"),
    );
  });

  test("packages, with versions, from a repository", async () => {
    await using root = await openPrivateRoot();
    await output(root, repository);
    expect(await output(root, "apt-cache policy svc-test-hello")).toContain("Candidate: 1.1");
    const probe = "dpkg -l | grep svc-test | tr -s ' ' | cut -d' ' -f1-3";
    const old = "svc-test-hello:\n  pkg.installed: [{version: '1.0'}]\n";
    const purged = "svc-test-hello:\n  pkg.purged: []\n";
    const seen = await roundTrip(root, { there: old, gone: purged, ids: ["svc-test-hello"] }, probe);
    expect(seen).toEqual({
      before: "",
      there: "ii svc-test-hello 1.0\nii svc-test-needed 1.0",
      gone: "ii svc-test-needed 1.0",
    });
    expect(await root.apply(old)).toMatchObject([{ changes: { "svc-test-hello": { old: "", new: "1.0" } } }]);
    const latest = "svc-test-hello:\n  pkg.latest: []\n";
    expect(await brief(root, latest, { test: true })).toBe("svc-test-hello:null+");
    expect(await root.apply(latest)).toMatchObject([
      { result: true, changes: { "svc-test-hello": { old: "1.0", new: "1.1" } } },
    ]);
    expect(await brief(root, latest)).toBe("svc-test-hello:true");
    // Back to an older one, by a part of it.
    const part =
      "them:\n  pkg.installed: [{pkgs: [{svc-test-hello: 1.0*}, svc-test-needed, svc-test-virtual]}]\n";
    expect(await root.apply(part)).toMatchObject([
      { result: true, changes: { "svc-test-hello": { new: "1.0" } } },
    ]);
    expect(await brief(root, part)).toBe("them:true");
    const removed = "them:\n  pkg.removed: [{pkgs: [svc-test-hello, svc-test-needed]}]\n";
    expect(await root.apply(removed)).toMatchObject([
      { changes: { "svc-test-hello": { old: "1.0", new: "" }, "svc-test-needed": { old: "1.0", new: "" } } },
    ]);
    expect(await brief(root, removed)).toBe("them:true");
    expect(await output(root, probe)).toBe("rc svc-test-hello 1.0\nrc svc-test-needed 1.0");
    expect(await brief(root, purged)).toBe("svc-test-hello:true+");
    const runs = "grep -c ^Start-Date: /var/log/apt/history.log";
    const runsBefore = Number(await output(root, runs));
    const together =
      "svc-test-needed:\n  pkg.purged: [{aggregate: true}]\nsvc-test-hello:\n  pkg.purged: []\n" +
      "one:\n  pkg.installed: [{pkgs: [svc-test-needed]}, {aggregate: true}]\nsvc-test-hello-too:\n  pkg.installed: [{name: svc-test-hello}, {version: '1.0'}]\n";
    expect((await root.apply(together)).map(({ id, changes }) => [id, Object.keys(changes)])).toEqual([
      ["svc-test-needed", ["svc-test-needed"]],
      ["svc-test-hello", []],
      ["one", ["svc-test-needed"]],
      ["svc-test-hello-too", ["svc-test-hello"]],
    ]);
    expect(Number(await output(root, runs)) - runsBefore).toBe(2);
    const [missing] = await root.apply("svc-test-nothing:\n  pkg.installed: []\n");
    expect(missing).toMatchObject({ result: false, changes: {} });
    expect(missing?.comment).toContain("Unable to locate package svc-test-nothing");
  });
});

/** Packages that nobody else has, in a repository that is a directory. */
const repository = `
set -e
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
mkdir -p /srv/repository
cd /srv/repository
build() {
  mkdir -p build/DEBIAN build/etc
  printf 'Package: %s\\nVersion: %s\\nArchitecture: all\\nMaintainer: Test <test@example.com>\\nDescription: a test\\n%s' "$1" "$2" "$3" >build/DEBIAN/control
  echo "$2" >"build/etc/$1.conf"
  echo "/etc/$1.conf" >build/DEBIAN/conffiles
  dpkg-deb --root-owner-group --build build "$1-$2.deb" >/dev/null
  rm -rf build
  cat >>Packages <<END
Package: $1
Version: $2
Architecture: all
Maintainer: Test <test@example.com>
$3Filename: ./$1-$2.deb
Size: $(stat -c %s "$1-$2.deb")
SHA256: $(sha256sum "$1-$2.deb" | cut -d' ' -f1)
Description: a test

END
}
newline='
'
build svc-test-hello 1.0 "Depends: svc-test-needed$newline"
build svc-test-hello 1.1 "Depends: svc-test-needed$newline"
build svc-test-needed 1.0 "Provides: svc-test-virtual$newline"
echo 'deb [trusted=yes] file:/srv/repository ./' >/etc/apt/sources.list
apt-get update
`;
