import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { type Group, groupsOfUser, localGroups, localUsers, type User } from "../system/accounts/mod.ts";
import { type System, systemOf } from "../system/system.ts";
import { arg, define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

/** Functions that describe the users of this host; states change them. */
export const userFunctions: readonly ModuleFunction[] = [
  define({
    name: "user.list_users",
    doc: "Lists the local users, without users of a directory service.",
    args: {},
    run: (_, context) => [...localUsers(systemOf(context)).keys()].sort(),
  }),
  define({
    name: "user.info",
    doc: "Describes a local user.",
    args: { name: arg.string("Name of the user.", { required: true, data: "name" }) },
    run({ name }, context) {
      const system = systemOf(context);
      return describeUser(system, known(localUsers(system).get(name), "user", name));
    },
  }),
];

/** Functions that describe the groups of this host; states change them. */
export const groupFunctions: readonly ModuleFunction[] = [
  define({
    name: "group.list_groups",
    doc: "Lists the local groups, without groups of a directory service.",
    args: {},
    run: (_, context) => [...localGroups(systemOf(context)).keys()].sort(),
  }),
  define({
    name: "group.info",
    doc: "Describes a local group.",
    args: { name: arg.string("Name of the group.", { required: true }) },
    run({ name }, context) {
      const { members, gid }: Group = known(localGroups(systemOf(context)).get(name), "group", name);
      return { name, gid, members: [...members] };
    },
  }),
];

function describeUser(system: System, user: User): Plain {
  return { ...user, groups: groupsOfUser(system, user.name) };
}

function known<Value>(found: Value | undefined, kind: string, name: string): Value {
  if (found !== undefined) return found;
  throw new SvcError("not_found", `${kind} ${quote(name)} does not exist on this host`);
}
