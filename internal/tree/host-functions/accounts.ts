import type { Plain } from "../../base/msgpack.ts";
import { groupsOfUser, localGroups, localUsers, type User } from "../../host/system/accounts/mod.ts";
import { type System, systemOf } from "../../host/system/system.ts";
import { type HostFunction, reading, text } from "./function.ts";

/** Functions that look up users and groups of the host. */
export const accountFunctions: readonly HostFunction[] = [
  reading(
    "user.info",
    ["name"],
    "Describes a local user; an empty map if there is none.",
    (args, { context }) => {
      const system = systemOf(context);
      const user = localUsers(system).get(text(args, "name"));
      return user === undefined ? {} : described(system, user);
    },
  ),
  reading("user.list_users", [], "Lists the local users.", (_, { context }) =>
    [...localUsers(systemOf(context)).keys()].sort(),
  ),
  reading("user.list_groups", ["name"], "Lists the groups of a user.", (args, { context }) => {
    const system = systemOf(context);
    const user = localUsers(system).get(text(args, "name"));
    return user === undefined ? [] : allGroups(system, user);
  }),
  reading("user.primary_group", ["name"], "Returns the primary group of a user.", (args, { context }) => {
    const system = systemOf(context);
    const user = localUsers(system).get(text(args, "name"));
    return user === undefined ? "" : groupOf(system, user.gid);
  }),
  reading(
    "group.info",
    ["name"],
    "Describes a local group; an empty map if there is none.",
    (args, { context }) => {
      const group = localGroups(systemOf(context)).get(text(args, "name"));
      return group === undefined
        ? {}
        : { name: group.name, gid: group.gid, passwd: "x", members: [...group.members] };
    },
  ),
  reading("group.list_groups", [], "Lists the local groups.", (_, { context }) =>
    [...localGroups(systemOf(context)).keys()].sort(),
  ),
];

function described(system: System, user: User): Plain {
  return { ...user, passwd: "x", groups: allGroups(system, user) };
}

function allGroups(system: System, user: User): string[] {
  return [...new Set([groupOf(system, user.gid), ...groupsOfUser(system, user.name)])].sort();
}

function groupOf(system: System, gid: number): string {
  return [...localGroups(system).values()].find((group) => group.gid === gid)?.name ?? String(gid);
}
