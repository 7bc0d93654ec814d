import { defined } from "../../../base/defined.ts";
import { arg } from "../../../host/modules/mod.ts";
import { accountsOf, localGroups, refuseAccountName } from "../../../host/system/accounts/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { defineState, type StateFunction } from "../../function/mod.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";

const maxId = 4_294_967_294;

/** States of the groups of this host. */
export const groupStates: readonly StateFunction[] = [
  defineState({
    name: "group.present",
    doc: "Ensures that a group exists with the given attributes. Other attributes are not changed.",
    args: {
      gid: arg.integer("Id of the group; chosen by the host by default.", { min: 0, max: maxId }),
      system: arg.boolean("Creates a new group as a system group, with a low id."),
      members: arg.strings("The exact list of members."),
      addusers: arg.strings("Users to add to the members."),
      delusers: arg.strings("Users to remove from the members."),
    },
    refuse({ members, addusers = [], delusers = [] }) {
      if (members !== undefined && addusers.length + delusers.length > 0) {
        return "give either members, or addusers and delusers";
      }
      const both = addusers.find((each) => delusers.includes(each));
      if (both !== undefined) return `${both} is both in addusers and in delusers`;
      return [...(members ?? []), ...addusers, ...delusers].map(refuseAccountName).find((each) => each);
    },
    plan(name, { gid, system: isSystem = false, members, addusers = [], delusers = [] }, context) {
      refuseWith(refuseAccountName(name));
      const system = systemOf(context);
      const accounts = () => accountsOf(system);
      const group = localGroups(system).get(name);
      const steps: Step[] = [];
      const numbered = defined({ gid });
      if (group === undefined) {
        steps.push({
          changes: { [name]: "added", ...numbered },
          run: () => accounts().addGroup(name, { ...numbered, system: isSystem }),
        });
      } else if (gid !== undefined && gid !== group.gid) {
        steps.push({
          changes: { gid: { old: group.gid, new: gid } },
          run: () => accounts().setGroupId(name, gid),
        });
      }
      const before = group?.members ?? [];
      const added = (members ?? addusers).filter((each) => !before.includes(each));
      const removed = before.filter((each) =>
        members === undefined ? delusers.includes(each) : !members.includes(each),
      );
      if (added.length + removed.length > 0) {
        const after = [...before.filter((each) => !removed.includes(each)), ...added];
        steps.push({
          changes: { members: { old: [...before].sort(), new: after.sort() } },
          async run() {
            for (const user of added) await accounts().addMember(name, user);
            for (const user of removed) await accounts().removeMember(name, user);
          },
        });
      }
      const what = group === undefined ? "added" : "changed";
      return planSteps(steps, says(`the group ${name}`, what, `the group ${name} is in the desired state`));
    },
  }),
  defineState({
    name: "group.absent",
    doc: "Ensures that a group does not exist.",
    args: {},
    plan(name, _, context) {
      refuseWith(refuseAccountName(name));
      const system = systemOf(context);
      const group = localGroups(system).get(name);
      if (group === undefined) return unchanged(`group ${name} does not exist`);
      refuseWith(group.gid === 0 ? `${name} is the group of root and is never removed` : undefined);
      const run = () => accountsOf(system).removeGroup(name);
      return planSteps([{ changes: { [name]: "removed" }, run }], says(`the group ${name}`, "removed"));
    },
  }),
];
