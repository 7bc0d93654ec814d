import type { System } from "../system.ts";

/** Who a user is, as chfn(1) has it: one field of /etc/passwd, with commas between its parts. */
export const gecosParts = ["fullname", "roomnumber", "workphone", "homephone", "other"] as const;
export type Gecos = Record<(typeof gecosParts)[number], string>;

/** An entry of /etc/passwd. */
export interface User extends Gecos {
  name: string;
  uid: number;
  gid: number;
  home: string;
  shell: string;
}

/** An entry of /etc/group. */
export interface Group {
  name: string;
  gid: number;
  /** Users with this supplementary group. */
  members: readonly string[];
}

/** Local users by name, without users of a directory service. */
export function localUsers(system: System): ReadonlyMap<string, User> {
  return system.memo("users", () => parsePasswd(system.read("/etc/passwd") ?? ""));
}

/** Local groups by name. */
export function localGroups(system: System): ReadonlyMap<string, Group> {
  return system.memo("groups", () => parseGroup(system.read("/etc/group") ?? ""));
}

/** Sorted names of a user's supplementary groups. */
export function groupsOfUser(system: System, name: string): string[] {
  return [...localGroups(system).values()]
    .filter(({ members }) => members.includes(name))
    .map((group) => group.name)
    .sort();
}

/** The hash of a user's password as in /etc/shadow; `undefined` when it is missing or not readable. */
export function passwordHash(system: System, name: string): string | undefined {
  const hashes = system.memo("password hashes", () => {
    const lines = (system.read("/etc/shadow") ?? "").split("\n").map((line) => line.split(":"));
    return new Map(lines.map(([user = "", hash = ""]) => [user, hash]));
  });
  return hashes.get(name);
}

function parseGecos(text: string): Gecos {
  const [fullname = "", roomnumber = "", workphone = "", homephone = "", ...other] = text.split(",");
  return { fullname, roomnumber, workphone, homephone, other: other.join(",") };
}

/** The field of /etc/passwd, without commas at its end. */
export function formatGecos(gecos: Gecos): string {
  return gecosParts
    .map((part) => gecos[part])
    .join(",")
    .replace(/,+$/, "");
}

/** Parses passwd(5). */
function parsePasswd(text: string): Map<string, User> {
  const users = new Map<string, User>();
  for (const line of text.split("\n")) {
    const [name, , uid, gid, gecos = "", home = "", shell = ""] = line.split(":");
    if (!name || !/^\d+$/.test(uid ?? "") || !/^\d+$/.test(gid ?? "")) continue;
    if (users.has(name)) continue;
    users.set(name, { name, uid: Number(uid), gid: Number(gid), ...parseGecos(gecos), home, shell });
  }
  return users;
}

/** Parses group(5). */
function parseGroup(text: string): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const line of text.split("\n")) {
    const [name, , gid, members = ""] = line.split(":");
    if (!name || !/^\d+$/.test(gid ?? "") || groups.has(name)) continue;
    groups.set(name, { name, gid: Number(gid), members: members.split(",").filter((each) => each !== "") });
  }
  return groups;
}
