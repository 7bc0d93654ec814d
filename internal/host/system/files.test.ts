import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { fixtureSystem } from "../../../test/harness/system.ts";
import { findKey, formatKey, parseKey, withKey, withoutKey } from "./authorized-keys.ts";
import { parseCrontab, readCrontab, writeCrontab } from "./crontab.ts";
import { fstabEntries, withEntry, withoutEntry } from "./fstab.ts";
import { parseHosts, withHost, withOnlyHosts, withoutHost } from "./hosts-file.ts";
import { configuredValue, runningValue, setRunningValue, withValue } from "./sysctl.ts";
import { currentZone, setZone, zoneProblem } from "./timezone.ts";

describe("crontab", () => {
  const text = `# mine
SHELL=/bin/bash
MAILTO = "ops, dev"
0 1 * * * /bin/own
# svc:nightly Backup of all
*/5  3 * *\tmon /usr/bin/backup  --all
@daily /bin/hello
# svc:job%20one
1 2 3 4 5 A=1 /bin/one

# svc:lost
# nothing follows
`;

  test("keeps unknown lines unchanged", () => {
    expect(parseCrontab(text).text()).toBe(text);
    expect(parseCrontab("").text()).toBe("");
  });

  test("finds entries by identifier, or else by command, and variables", () => {
    const crontab = parseCrontab(text);
    expect(crontab.entries()).toEqual([
      { identifier: "/bin/own", schedule: "0 1 * * *", command: "/bin/own" },
      {
        identifier: "nightly",
        schedule: "*/5 3 * * mon",
        command: "/usr/bin/backup  --all",
        comment: "Backup of all",
      },
      { identifier: "/bin/hello", schedule: "@daily", command: "/bin/hello" },
      { identifier: "job one", schedule: "1 2 3 4 5", command: "A=1 /bin/one" },
    ]);
    expect(crontab.variable("MAILTO")).toBe("ops, dev");
    expect(crontab.variable("SHELL")).toBe("/bin/bash");
    expect(crontab.variable("A")).toBeUndefined();
  });

  test("entries that are set are found, and removed entries are not", () => {
    const line = fc.string({ unit: "grapheme" }).filter((each) => !/[\n\r\0\s]/.test(each) && each !== "");
    const entry = fc.record(
      { identifier: line, schedule: fc.constantFrom("@daily", "0 1 * * *"), command: line, comment: line },
      { requiredKeys: ["identifier", "schedule", "command"] },
    );
    fc.assert(
      fc.property(entry, (wanted) => {
        const crontab = parseCrontab(text);
        crontab.set(wanted);
        const again = parseCrontab(crontab.text());
        expect(again.find(wanted.identifier)).toEqual(wanted);
        again.remove(wanted.identifier);
        expect(parseCrontab(again.text()).find(wanted.identifier)).toBeUndefined();
        expect(again.variable("MAILTO")).toBe("ops, dev");
      }),
    );
  });

  test("variables stand above every entry", () => {
    const crontab = parseCrontab("0 1 * * * /bin/own\n");
    crontab.setVariable("A", "1 2");
    expect(crontab.text()).toBe('A="1 2"\n0 1 * * * /bin/own\n');
    crontab.setVariable("A", undefined);
    expect(crontab.text()).toBe("0 1 * * * /bin/own\n");
  });

  test("is only read and written by the program", async () => {
    const system = fixtureSystem({
      programs: ["crontab"],
      answer: (argv) => (argv.includes("-l") ? { code: 1, stderr: "no crontab for alice\n" } : {}),
    });
    expect(await readCrontab(system, "alice")).toBe("");
    await writeCrontab(system, "alice", "x\n");
    expect(system.ran).toEqual(["crontab -u alice -l", "crontab -u alice -"]);
    const refusing = fixtureSystem({
      programs: ["crontab"],
      answer: () => ({ code: 1, stderr: "must be privileged to use -u\n" }),
    });
    await expect(readCrontab(refusing, "alice")).rejects.toThrow("must be privileged to use -u");
    expect(() => readCrontab(fixtureSystem(), "alice")).toThrow(
      "cron: the program crontab is not installed; install cron",
    );
  });
});

describe("hosts", () => {
  const text = "127.0.0.1\tlocalhost\n10.0.0.1 a b # both\n::1 localhost\n10.0.0.1 c\n";

  test("a name is added to an address, and removed", () => {
    expect(Object.fromEntries(parseHosts(text))).toEqual({
      "127.0.0.1": ["localhost"],
      "10.0.0.1": ["a", "b", "c"],
      "::1": ["localhost"],
    });
    expect(withHost(text, "10.0.0.1", "d")).toBe(text.replace(" c\n", " c d\n"));
    expect(withHost(text, "127.0.0.1", "d")).toBe(text.replace("\tlocalhost\n10", "\tlocalhost d\n10"));
    expect(withHost(text, "10.0.0.2", "d")).toBe(`${text}10.0.0.2\t\td\n`);
    expect(withoutHost(text, "10.0.0.1", "a")).toBe(text.replace("10.0.0.1 a b", "10.0.0.1\t\tb"));
    expect(withoutHost(text, "10.0.0.1", "c")).toBe(text.replace("10.0.0.1 c\n", ""));
    expect(withoutHost(text, "10.0.0.9", "c")).toBe(text);
    expect(withHost("10.0.0.1 a # why", "10.0.0.1", "b")).toBe("10.0.0.1 a b # why\n");
  });

  test("the names of an address are replaced", () => {
    expect(withOnlyHosts(text, "10.0.0.1", ["z"])).toBe(
      "127.0.0.1\tlocalhost\n10.0.0.1\t\tz\n::1 localhost\n",
    );
    expect(withOnlyHosts(text, "10.0.0.1", [])).toBe("127.0.0.1\tlocalhost\n::1 localhost\n");
    expect(withOnlyHosts(text, "10.0.0.2", ["z"])).toBe(`${text}10.0.0.2\t\tz\n`);
    expect(withOnlyHosts(text, "10.0.0.2", [])).toBe(text);
  });
});

describe("sysctl", () => {
  test("the file of a parameter handles both separators", () => {
    const system = fixtureSystem({
      files: {
        "/proc/sys/net/ipv4/tcp_rmem": "4096\t87380\t6291456\n",
        "/proc/sys/net/ipv4/conf/eth0.100/rp_filter": "1\n",
      },
    });
    expect(runningValue(system, "net.ipv4.tcp_rmem")).toBe("4096 87380 6291456");
    expect(runningValue(system, "net.ipv4.conf.eth0/100.rp_filter")).toBe("1");
    expect(runningValue(system, "net/ipv4/conf/eth0.100/rp_filter")).toBe("1");
    expect(runningValue(system, "net.none")).toBeUndefined();
    setRunningValue(system, "net.ipv4.tcp_rmem", "1 2 3");
    expect(runningValue(system, "net.ipv4.tcp_rmem")).toBe("1 2 3");
  });

  test.each(["net..ipv4", "../../etc/passwd", "a b", "", "net.//.x", "/../x"])(
    "%j is not a parameter name",
    (name) => {
      expect(() => runningValue(fixtureSystem(), name)).toThrow("is not a valid kernel parameter name");
    },
  );

  test("a file keeps its other lines", () => {
    const text = "# ours\nnet.ipv4.ip_forward=0\n; other\n-kernel.panic = 1\nnet/ipv4/ip_forward = 2\n";
    expect(configuredValue(text, "net.ipv4.ip_forward")).toBe("2");
    expect(configuredValue(text, "kernel.panic")).toBe("1");
    expect(configuredValue(text, "kernel.none")).toBeUndefined();
    expect(withValue(text, "net.ipv4.ip_forward", "1")).toBe(
      "# ours\nnet.ipv4.ip_forward = 1\n; other\n-kernel.panic = 1\n",
    );
    expect(withValue("", "vm.swappiness", "10")).toBe("vm.swappiness = 10\n");
  });
});

describe("fstab", () => {
  const text = "# static\nUUID=1-2 / ext4 errors=remount-ro 0 1\n/dev/sdb1\t/srv/my\\040data\text4\n";

  test("an entry is found, replaced and removed", () => {
    const [, entry] = fstabEntries(text);
    expect(entry).toEqual({
      device: "/dev/sdb1",
      path: "/srv/my data",
      fstype: "ext4",
      options: "defaults",
      dump: 0,
      pass: 0,
    });
    if (entry === undefined) return expect.unreachable();
    expect(withEntry(text, { ...entry, options: "ro" })).toBe(
      text.replace("/dev/sdb1\t/srv/my\\040data\text4", "/dev/sdb1\t/srv/my\\040data\text4\tro\t0\t0"),
    );
    expect(withEntry("", entry)).toBe("/dev/sdb1\t/srv/my\\040data\text4\tdefaults\t0\t0\n");
    expect(withoutEntry(text, "/srv/my data")).toBe("# static\nUUID=1-2 / ext4 errors=remount-ro 0 1\n");
    expect(fstabEntries("none none swap sw 0 0\n# a b c\n").map(({ path }) => path)).toEqual(["none"]);
  });
});

describe("authorized keys", () => {
  const key = "AAAAC3NzaC1lZDI1NTE5AAAAIGtlZXBzIHRoaXMgYXMgYSB0ZXN0IGtleSBvbmx5ISE=";

  test.each([
    [`ssh-ed25519 ${key}`, "ssh-ed25519", [], ""],
    [`ssh-ed25519 ${key} alice@host with words`, "ssh-ed25519", [], "alice@host with words"],
    [`no-pty,from="10.0.0.0/8,::1" ssh-rsa ${key} x`, "ssh-rsa", ["no-pty", 'from="10.0.0.0/8,::1"'], "x"],
    [`command="echo \\"a, b\\"" ssh-rsa ${key}`, "ssh-rsa", ['command="echo \\"a, b\\""'], ""],
    [`sk-ssh-ed25519@openssh.com ${key} fido`, "sk-ssh-ed25519@openssh.com", [], "fido"],
    [`ecdsa-sha2-nistp256 ${key}`, "ecdsa-sha2-nistp256", [], ""],
  ])("%s", (line, type, options, comment) => {
    const parsed = parseKey(line);
    expect(parsed).toEqual({ type, key, options, comment });
    if (parsed !== undefined) expect(formatKey(parsed)).toBe(line);
  });

  test.each(["", "# ssh-rsa AAAA", "hello", "ssh-rsa", "ssh-rsa !!!"])("%j is not a key", (line) => {
    expect(parseKey(line)).toBeUndefined();
  });

  test("a key is replaced regardless of its options, and others are kept", () => {
    const text = `# keys\nssh-rsa AAAAother bob\nno-pty ssh-ed25519 ${key} old`;
    const entry = { type: "ssh-ed25519", key, options: [], comment: "new" };
    expect(findKey(text, key)?.comment).toBe("old");
    expect(withKey(text, entry)).toBe(`# keys\nssh-rsa AAAAother bob\nssh-ed25519 ${key} new\n`);
    expect(withKey("", entry)).toBe(`ssh-ed25519 ${key} new\n`);
    expect(withoutKey(text, key)).toBe("# keys\nssh-rsa AAAAother bob\n");
  });
});

test("the time zone comes from the link, or else the file", () => {
  const zones = { "/usr/share/zoneinfo/Europe/Berlin": "TZif", "/usr/share/zoneinfo/UTC": "TZif" };
  const system = fixtureSystem({
    files: { ...zones, "/etc/timezone": "Etc/Old\n" },
    links: { "/etc/localtime": "../usr/share/zoneinfo/UTC" },
  });
  expect(currentZone(system)).toBe("UTC");
  expect(zoneProblem(system, "Europe/Berlin")).toBeUndefined();
  expect(zoneProblem(system, "Europe")).toContain("unknown time zone on this host");
  expect(zoneProblem(system, "../../etc/passwd")).toContain("unknown time zone on this host");
  expect(zoneProblem(fixtureSystem(), "UTC")).toContain("install tzdata");
  setZone(system, "Europe/Berlin");
  expect(currentZone(system)).toBe("Europe/Berlin");
  expect(system.read("/etc/timezone")).toBe("Europe/Berlin\n");
  expect(currentZone(fixtureSystem({ files: { "/etc/timezone": "Etc/Old\n" } }))).toBe("Etc/Old");
});
