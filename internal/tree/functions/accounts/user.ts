import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { defined } from "../../../base/defined.ts";
import { findForeignDirectory } from "../../../base/files/foreign-directory.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { type ArgSpec, arg, type ValuesOf } from "../../../host/modules/mod.ts";
import {
  accountsOf,
  formatGecos,
  type Gecos,
  gecosParts,
  groupsOfUser,
  localGroups,
  localUsers,
  passwordHash,
  refuseAccountName,
  refuseField,
  refuseGecos,
  type User,
  type UserChange,
} from "../../../host/system/accounts/mod.ts";
import { type System, systemOf } from "../../../host/system/system.ts";
import { type Changes, defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";

const maxId = 4_294_967_294;
/** Placeholder for a secret. */
const hidden = "(hidden)";

const presentArgs = {
  uid: arg.integer("Id of the user; chosen by the host by default.", { min: 0, max: maxId }),
  gid: arg.any("Id or name of the primary group; a group with the name of the user by default."),
  groups: arg.strings("Supplementary groups of the user."),
  optional_groups: arg.strings("Supplementary groups that are ignored if they do not exist."),
  remove_groups: arg.boolean(
    "Removes the user from groups that are not listed; true by default if groups is given.",
  ),
  home: arg.path("Home directory. An existing directory is not moved."),
  createhome: arg.boolean("Creates the home directory of a new user; true by default."),
  password: arg.string("Hash of the password, such as $6$…. It is never shown."),
  enforce_password: arg.boolean("Also sets the password of an existing user; true by default."),
  shell: arg.path("Login shell; chosen by the host by default."),
  system: arg.boolean("Creates a new user as a system user, with a low id."),
  fullname: arg.string("Full name of the person, without a comma."),
  roomnumber: arg.string("Room of the person, without a comma."),
  workphone: arg.string("Telephone at work, without a comma."),
  homephone: arg.string("Telephone at home, without a comma."),
  other: arg.string("Anything else about the person."),
} as const satisfies Record<string, ArgSpec>;

type PresentArgs = ValuesOf<typeof presentArgs>;

/** States of local users; users of a directory service are not visible to them. */
export const userStates: readonly StateFunction[] = [
  defineState({
    name: "user.present",
    doc: "Ensures that a user exists with the given attributes. Other attributes are not changed.",
    args: presentArgs,
    refuse: ({ gid, groups, optional_groups, password, home, shell, ...args }) =>
      refuseGroup(gid) ??
      [...(groups ?? []), ...(optional_groups ?? [])].map(refuseAccountName).find((each) => each) ??
      refuseHash(password) ??
      gecosParts.map((part) => refuseGecos(part, args[part])).find((each) => each) ??
      refuseField("home", home) ??
      refuseField("shell", shell),
    plan(name, args, context) {
      refuseWith(refuseAccountName(name));
      const system = systemOf(context);
      const user = localUsers(system).get(name);
      const steps = user === undefined ? creation(system, name, args) : alteration(system, user, args);
      const what = user === undefined ? "added" : "changed";
      return planSteps(
        [...steps, ...membership(system, name, args)],
        says(`the user ${name}`, what, `the user ${name} is in the desired state`),
      );
    },
  }),
  defineState({
    name: "user.absent",
    doc: "Ensures that a user does not exist.",
    args: {
      purge: arg.boolean("Also removes the home directory; false by default."),
      force: arg.boolean("Removes the user even if logged in; false by default."),
    },
    plan(name, { purge = false, force = false }, context) {
      refuseWith(refuseAccountName(name));
      const system = systemOf(context);
      const user = localUsers(system).get(name);
      if (user === undefined) return unchanged(`user ${name} does not exist`);
      refuseWith(refuseRemoval(user, purge));
      const run = () => accountsOf(system).removeUser(name, { purge, force });
      return planSteps([{ changes: { [name]: "removed" }, run }], says(`the user ${name}`, "removed"));
    },
  }),
];

/** The problem with a group given as an id or a name, if any. */
function refuseGroup(gid: Plain | undefined): string | undefined {
  if (gid === undefined || (Number.isSafeInteger(gid) && Number(gid) >= 0 && Number(gid) <= maxId)) {
    return undefined;
  }
  return typeof gid === "string" ? refuseAccountName(gid) : "gid: expected the id or name of a group";
}

/** Only hashes are accepted: a password would be sent and stored in clear text. */
function refuseHash(hash: string | undefined): string | undefined {
  if (hash === undefined || /^[!*]{0,2}(\$[^:\s]+)?$/.test(hash)) return undefined;
  return "password: expected a hash such as $6$…, or ! for none";
}

/**
 * Why a user must not be removed. Root is never removed. With `purge`, the home directory must belong to the
 * user alone, because some system users have / or /bin.
 */
function refuseRemoval(user: User, purge: boolean): string | undefined {
  if (user.uid === 0) return `${user.name} is root and is never removed`;
  if (!purge) return undefined;
  const stats = lstatSync(user.home, { throwIfNoEntry: false });
  if (stats === undefined || (stats.uid === user.uid && user.home.split("/").length > 2)) return undefined;
  return `${user.home} is not the home directory of ${user.name} alone and is not removed; run without purge`;
}

/** Programs that create users follow paths, so nobody else may be able to replace the directories above a home. */
function homeProblem(home: string): string | undefined {
  const foreign = findForeignDirectory(dirname(home));
  if (foreign === undefined) return undefined;
  return `home: not created in ${foreign.path}, which another user can change; set createhome: false and use file.directory`;
}

function creation(system: System, name: string, args: PresentArgs): Step[] {
  const { uid, gid, home, shell, createhome = true, password } = args;
  const set = defined({ uid, gid: groupOf(gid), home, shell, system: args.system });
  const who = gecosOf(args);
  const isSaid = Object.keys(who).length > 0;
  const gecos = isSaid ? { gecos: formatGecos({ ...noGecos, ...who }) } : {};
  const add: Step = {
    changes: { [name]: "added", ...set, ...who },
    run() {
      if (createhome && home !== undefined) refuseWith(homeProblem(home));
      return accountsOf(system).addUser({ name, createhome, ...set, ...gecos });
    },
  };
  return password === undefined ? [add] : [add, passwordStep(system, name, password)];
}

function alteration(system: System, user: User, args: PresentArgs): Step[] {
  const steps: Step[] = [];
  const changes: Changes = {};
  const change: UserChange = {};
  if (args.uid !== undefined && args.uid !== user.uid) {
    changes.uid = { old: user.uid, new: args.uid };
    change.uid = args.uid;
  }
  const group = groupOf(args.gid);
  const wantedGid = typeof group === "string" ? localGroups(system).get(group)?.gid : group;
  if (group !== undefined && wantedGid !== user.gid) {
    changes.gid = { old: user.gid, new: wantedGid ?? group };
    change.gid = group;
  }
  for (const key of ["home", "shell"] as const) {
    const value = args[key];
    if (value === undefined || value === user[key]) continue;
    changes[key] = { old: user[key], new: value };
    change[key] = value;
  }
  const who = gecosOf(args);
  for (const part of gecosParts) {
    const value = who[part];
    if (value === undefined || value === user[part]) continue;
    changes[part] = { old: user[part], new: value };
    // The other parts are in the same field, and stay.
    change.gecos = formatGecos({ ...user, ...who });
  }
  if (Object.keys(change).length > 0) {
    steps.push({ changes, run: () => accountsOf(system).changeUser(user.name, change) });
  }
  const { password, enforce_password = true } = args;
  if (password !== undefined && enforce_password && passwordHash(system, user.name) !== password) {
    steps.push(passwordStep(system, user.name, password));
  }
  return steps;
}

const noGecos: Gecos = { fullname: "", roomnumber: "", workphone: "", homephone: "", other: "" };

/** What a state says about who a user is. */
function gecosOf({ fullname, roomnumber, workphone, homephone, other }: PresentArgs): Partial<Gecos> {
  return defined({ fullname, roomnumber, workphone, homephone, other });
}

function passwordStep(system: System, name: string, hash: string): Step {
  return {
    changes: { password: hidden },
    run: () => accountsOf(system).setPasswordHash(name, hash),
  };
}

function membership(system: System, name: string, args: PresentArgs): Step[] {
  const { groups, optional_groups: optional = [], remove_groups: remove = true, gid } = args;
  if (groups === undefined && optional.length === 0) return [];
  const known = localGroups(system);
  const user = localUsers(system).get(name);
  // The primary group needs no member entry, and an existing entry does no harm.
  const isPrimary = (group: string) =>
    user === undefined ? group === (gid ?? name) : known.get(group)?.gid === user.gid;
  const wanted = new Set([...(groups ?? []), ...optional.filter((each) => known.has(each))]);
  const before = groupsOfUser(system, name);
  const added = [...wanted].filter((each) => !before.includes(each) && !isPrimary(each)).sort();
  const removed =
    groups === undefined || !remove ? [] : before.filter((each) => !wanted.has(each) && !isPrimary(each));
  if (added.length === 0 && removed.length === 0) return [];
  const after = [...before.filter((each) => !removed.includes(each)), ...added].sort();
  const run = async () => {
    const accounts = accountsOf(system);
    for (const group of added) {
      system.forget();
      if (!localGroups(system).has(group)) throw new StateFailure(`group ${group} does not exist`);
      await accounts.addMember(group, name);
    }
    for (const group of removed) await accounts.removeMember(group, name);
  };
  return [{ changes: { groups: { old: before, new: after } }, run }];
}

function groupOf(gid: Plain | undefined): string | number | undefined {
  return typeof gid === "string" || typeof gid === "number" ? gid : undefined;
}
