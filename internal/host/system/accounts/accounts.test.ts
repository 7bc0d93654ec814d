import { describe, expect, test } from "bun:test";
import { fixtureSystem } from "../../../../test/harness/system.ts";
import { type AccountManager, refuseAccountName, refuseField, refuseGecos } from "./manager.ts";
import { accountsOf } from "./open.ts";
import { groupsOfUser, localGroups, localUsers, passwordHash } from "./users.ts";

const files = {
  "/etc/passwd": `root:x:0:0:root:/root:/bin/bash
# a comment
alice:x:1000:1000:Alice Liddell,,,:/home/alice:/bin/zsh
broken:x:no:1000::/:/bin/sh
+nis::::::
alice:x:2000:2000:Another:/:/bin/sh
`,
  "/etc/group": "root:x:0:\nadm:x:4:syslog,alice\nalice:x:1000:\nempty:x:5:\nusers:x:100:alice,bob\n",
  "/etc/shadow": "root:*:19000:0:99999:7:::\nalice:$6$salt$hash:19000:0:99999:7:::\n",
};

test("users and groups are read from their files; the first entry of a name applies", () => {
  const system = fixtureSystem({ files });
  expect([...localUsers(system).keys()]).toEqual(["root", "alice"]);
  expect(localUsers(system).get("alice")).toEqual({
    name: "alice",
    uid: 1000,
    gid: 1000,
    fullname: "Alice Liddell",
    ...{ roomnumber: "", workphone: "", homephone: "", other: "" },
    home: "/home/alice",
    shell: "/bin/zsh",
  });
  expect(localGroups(system).get("adm")).toEqual({ name: "adm", gid: 4, members: ["syslog", "alice"] });
  expect(localGroups(system).get("empty")?.members).toEqual([]);
  expect(groupsOfUser(system, "alice")).toEqual(["adm", "users"]);
  expect(passwordHash(system, "alice")).toBe("$6$salt$hash");
  expect(passwordHash(system, "nobody")).toBeUndefined();
});

describe("the programs", () => {
  const user = { name: "carol", uid: 7, gid: 1000, gecos: "C", home: "/h", shell: "/s", createhome: true };
  test.each<["useradd" | "adduser", (accounts: AccountManager) => Promise<void>, string]>([
    ["useradd", (a) => a.addUser(user), "useradd -m -u 7 -g 1000 -c C -d /h -s /s carol"],
    ["useradd", (a) => a.addUser({ name: "d", system: true, createhome: false }), "useradd -M -r -U d"],
    ["useradd", (a) => a.changeUser("carol", { shell: "/s", gid: "adm" }), "usermod -g adm -s /s carol"],
    ["useradd", (a) => a.removeUser("carol", { purge: true, force: true }), "userdel -r -f carol"],
    ["useradd", (a) => a.removeUser("carol", { purge: false, force: false }), "userdel carol"],
    ["useradd", (a) => a.addGroup("g", { gid: 9, system: true }), "groupadd -r -g 9 g"],
    ["useradd", (a) => a.setGroupId("g", 9), "groupmod -g 9 g"],
    ["useradd", (a) => a.removeGroup("g"), "groupdel g"],
    ["useradd", (a) => a.addMember("g", "carol"), "gpasswd -a carol g"],
    ["useradd", (a) => a.removeMember("g", "carol"), "gpasswd -d carol g"],
    ["adduser", (a) => a.addUser(user), "adduser -D -u 7 -G alice -g C -h /h -s /s carol"],
    ["adduser", (a) => a.addUser({ name: "d", system: true, createhome: false }), "adduser -D -S -H d"],
    ["adduser", (a) => a.removeUser("carol", { purge: true, force: false }), "deluser --remove-home carol"],
    ["adduser", (a) => a.addGroup("g", { gid: 9, system: true }), "addgroup -S -g 9 g"],
    ["adduser", (a) => a.removeGroup("g"), "delgroup g"],
    ["adduser", (a) => a.addMember("g", "carol"), "addgroup carol g"],
    ["adduser", (a) => a.removeMember("g", "carol"), "delgroup carol g"],
  ])("%s %#", async (program, run, expected) => {
    const system = fixtureSystem({ files, programs: [program, "busybox"] });
    await run(accountsOf(system));
    expect(system.ran).toEqual([expected]);
  });

  test.each(["useradd", "adduser"])(
    "with %s a password is passed only on standard input",
    async (program) => {
      const inputs: unknown[] = [];
      const system = fixtureSystem({
        programs: [program, "busybox"],
        answer: (_, { stdin }) => {
          inputs.push(stdin);
          return {};
        },
      });
      await accountsOf(system).setPasswordHash("carol", "$6$x$y");
      expect(system.ran).toEqual(["chpasswd -e"]);
      expect(inputs).toEqual(["carol:$6$x$y\n"]);
    },
  );

  test("an unsupported operation is an error", async () => {
    const system = fixtureSystem({ programs: ["adduser", "busybox"] });
    await expect(accountsOf(system).changeUser("carol", {})).rejects.toThrow(
      "cannot change user carol: BusyBox has no program for that; install shadow",
    );
    // The adduser of Debian takes other arguments.
    expect(() => accountsOf(fixtureSystem({ programs: ["adduser"] }))).toThrow(
      "user: no supported program found: looked for useradd, adduser of BusyBox",
    );
  });
});

test.each(["-r", "a:b", "a b", "a\nb", "", "1", "a/b"])("the account name %j is rejected", (name) => {
  expect(refuseAccountName(name)).toContain("is not a valid user or group name");
});

test("a field cannot break a line of the file", () => {
  expect(refuseField("fullname", "a:b")).toBe("fullname: must not contain a colon or a line break");
  expect(refuseField("home", "/home/a, b")).toBeUndefined();
  expect(refuseGecos("fullname", "Alice, of Wonderland")).toBe(
    "fullname: must not contain a comma, which ends it in /etc/passwd",
  );
  expect(refuseGecos("workphone", "1\t2")).toBe("workphone: must not contain control characters");
  expect(refuseGecos("fullname", "a:b")).toBe("fullname: must not contain a colon or a line break");
  expect([refuseGecos("other", "a, b"), refuseGecos("fullname", "Zoë")]).toEqual([undefined, undefined]);
});
