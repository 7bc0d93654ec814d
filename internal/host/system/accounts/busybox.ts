import { SvcError } from "../../../base/errors.ts";
import { type System, succeed } from "../system.ts";
import type { AccountManager } from "./manager.ts";
import { localGroups } from "./users.ts";

/** adduser and related programs of BusyBox, as on Alpine. BusyBox cannot change a user or a group. */
export function busyboxAccounts(system: System): AccountManager {
  const run = async (purpose: string, ...argv: string[]) => {
    await succeed(system, purpose, argv);
  };
  const cannot = (what: string) =>
    Promise.reject(
      new SvcError("bad_request", `cannot ${what}: BusyBox has no program for that; install shadow`),
    );
  return {
    name: "busybox",
    addUser: ({ name, createhome, system: isSystem, uid, gid, gecos, home, shell }) =>
      run(
        `add user ${name}`,
        "adduser",
        "-D",
        ...(isSystem === true ? ["-S"] : []),
        ...(createhome ? [] : ["-H"]),
        ...(uid === undefined ? [] : ["-u", String(uid)]),
        ...(gid === undefined ? [] : ["-G", groupName(system, gid)]),
        ...(gecos === undefined ? [] : ["-g", gecos]),
        ...(home === undefined ? [] : ["-h", home]),
        ...(shell === undefined ? [] : ["-s", shell]),
        name,
      ),
    changeUser: (name) => cannot(`change user ${name}`),
    async setPasswordHash(name, hash) {
      await succeed(system, `set the password of ${name}`, ["chpasswd", "-e"], {
        stdin: `${name}:${hash}\n`,
      });
    },
    removeUser: (name, { purge }) =>
      run(`remove user ${name}`, "deluser", ...(purge ? ["--remove-home"] : []), name),
    addGroup: (name, { gid, system: isSystem }) =>
      run(
        `add group ${name}`,
        "addgroup",
        ...(isSystem ? ["-S"] : []),
        ...(gid === undefined ? [] : ["-g", String(gid)]),
        name,
      ),
    setGroupId: (name) => cannot(`change group ${name}`),
    removeGroup: (name) => run(`remove group ${name}`, "delgroup", name),
    addMember: (group, user) => run(`add ${user} to group ${group}`, "addgroup", user, group),
    removeMember: (group, user) => run(`remove ${user} from group ${group}`, "delgroup", user, group),
  };
}

/** BusyBox accepts only group names. */
function groupName(system: System, gid: number | string): string {
  if (typeof gid === "string") return gid;
  const found = [...localGroups(system).values()].find((group) => group.gid === gid);
  if (found !== undefined) return found.name;
  throw new SvcError("not_found", `group ${gid} does not exist on this host`);
}
