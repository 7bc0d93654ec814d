import { type System, succeed } from "../system.ts";
import type { AccountManager, UserChange } from "./manager.ts";

/** useradd and related programs, available in nearly every distribution. */
export function shadowAccounts(system: System): AccountManager {
  const run = async (purpose: string, ...argv: string[]) => {
    await succeed(system, purpose, argv);
  };
  return {
    name: "shadow",
    addUser: ({ name, createhome, system: isSystem, ...user }) =>
      run(
        `add user ${name}`,
        "useradd",
        createhome ? "-m" : "-M",
        ...(isSystem === true ? ["-r"] : []),
        ...(user.gid === undefined ? ["-U"] : []),
        ...flagsOf(user),
        name,
      ),
    changeUser: (name, change) => run(`change user ${name}`, "usermod", ...flagsOf(change), name),
    async setPasswordHash(name, hash) {
      await succeed(system, `set the password of ${name}`, ["chpasswd", "-e"], {
        stdin: `${name}:${hash}\n`,
      });
    },
    removeUser: (name, { purge, force }) =>
      run(`remove user ${name}`, "userdel", ...(purge ? ["-r"] : []), ...(force ? ["-f"] : []), name),
    addGroup: (name, { gid, system: isSystem }) =>
      run(
        `add group ${name}`,
        "groupadd",
        ...(isSystem ? ["-r"] : []),
        ...(gid === undefined ? [] : ["-g", String(gid)]),
        name,
      ),
    setGroupId: (name, gid) => run(`change group ${name}`, "groupmod", "-g", String(gid), name),
    removeGroup: (name) => run(`remove group ${name}`, "groupdel", name),
    addMember: (group, user) => run(`add ${user} to group ${group}`, "gpasswd", "-a", user, group),
    removeMember: (group, user) => run(`remove ${user} from group ${group}`, "gpasswd", "-d", user, group),
  };
}

function flagsOf({ uid, gid, gecos, home, shell }: UserChange): string[] {
  return [
    ...(uid === undefined ? [] : ["-u", String(uid)]),
    ...(gid === undefined ? [] : ["-g", String(gid)]),
    ...(gecos === undefined ? [] : ["-c", gecos]),
    ...(home === undefined ? [] : ["-d", home]),
    ...(shell === undefined ? [] : ["-s", shell]),
  ];
}
