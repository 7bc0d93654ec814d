import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, type Plan, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { parseSize } from "../size.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";
import { lvOptions, optionArgs, optionProblem, optionWords, pvOptions, vgOptions } from "./lvm-options.ts";
import { groupNames, logicalVolumes, physicalVolumes, realDevice, slow } from "./lvm-report.ts";

/** States of LVM. */
export const lvmStates: readonly StateFunction[] = deferring([
  defineState({
    name: "lvm.pv_present",
    doc: "Ensures that a device is a physical volume. A device with a file system is not overwritten.",
    args: optionArgs(pvOptions, "pvcreate"),
    refuse: (args) => optionProblem(args, pvOptions),
    async plan(name, args, context) {
      refuseWith(devicePathProblem(name));
      const system = systemOf(context);
      const volumes = await physicalVolumes(system);
      const argv = ["pvcreate", "--yes", ...optionWords(args, pvOptions), name];
      const run = async () => {
        await refuseInUse(system, name);
        await succeed(system, `create the physical volume ${name}`, argv, slow);
      };
      return planSteps(
        volumes.some(({ device }) => device === realDevice(system, name))
          ? []
          : [{ changes: { [name]: "created" }, run }],
        {
          fine: `${name} is a physical volume`,
          due: `${name} would become a physical volume`,
          done: `${name} became a physical volume`,
        },
      );
    },
  }),
  defineState({
    name: "lvm.pv_absent",
    doc: "Ensures that a device is not a physical volume. One in a volume group is not removed.",
    args: {},
    async plan(name, _, context) {
      refuseWith(devicePathProblem(name));
      const system = systemOf(context);
      const found = (await physicalVolumes(system)).find(({ device }) => device === realDevice(system, name));
      if (found === undefined) return unchanged(`${name} is not a physical volume`);
      if (found.group !== "")
        throw new StateFailure(`${name} is in the volume group ${found.group}: remove that first`);
      return planRemoval(system, "physical volume", name, "pvremove");
    },
  }),
  defineState({
    name: "lvm.vg_present",
    doc: "Ensures that a volume group exists and has these physical volumes. Others are not removed.",
    args: {
      devices: arg.strings("Physical volumes; devices with a file system are not overwritten.", {
        required: true,
      }),
      ...optionArgs(vgOptions, "vgcreate"),
    },
    refuse: (args) =>
      optionProblem(args, vgOptions) ??
      args.devices
        .flatMap((each) => each.split(","))
        .map(devicePathProblem)
        .find((each) => each !== undefined),
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const system = systemOf(context);
      const devices = args.devices.flatMap((each) => each.split(","));
      const volumes = await physicalVolumes(system);
      const groupOf = (device: string) =>
        volumes.find((each) => each.device === realDevice(system, device))?.group;
      const foreign = devices.find((device) => ![name, "", undefined].includes(groupOf(device)));
      if (foreign !== undefined) {
        throw new StateFailure(`${foreign} is in the volume group ${groupOf(foreign)} already`);
      }
      const missing = devices.filter((device) => groupOf(device) !== name);
      const exists = (await groupNames(system)).includes(name);
      const argv = exists
        ? ["vgextend", "--yes", name, ...missing]
        : ["vgcreate", "--yes", ...optionWords(args, vgOptions), name, ...devices];
      const run = async () => {
        for (const device of missing) if (groupOf(device) === undefined) await refuseInUse(system, device);
        await succeed(system, `create the volume group ${name}`, argv, slow);
      };
      const changes = { [name]: exists ? { added: missing } : { created: devices } };
      return planSteps(
        exists && missing.length === 0 ? [] : [{ changes, run }],
        says(
          `the volume group ${name}`,
          exists ? "extended" : "created",
          `the volume group ${name} has its physical volumes`,
        ),
      );
    },
  }),
  defineState({
    name: "lvm.vg_absent",
    doc: "Ensures that a volume group does not exist. One with logical volumes is not removed.",
    args: {},
    async plan(name, _, context) {
      refuseWith(nameProblem(name));
      const system = systemOf(context);
      if (!(await groupNames(system)).includes(name))
        return unchanged(`the volume group ${name} does not exist`);
      const used = (await logicalVolumes(system)).find(({ group }) => group === name);
      if (used !== undefined)
        throw new StateFailure(`${name} has the logical volume ${used.name}: remove that first`);
      return planRemoval(system, "volume group", name, "vgremove");
    },
  }),
  defineState({
    name: "lvm.lv_present",
    doc: "Ensures that a logical volume exists. An existing one grows to its size, and never becomes smaller.",
    args: {
      vgname: arg.string("Volume group."),
      size: arg.any("Size, such as 10G or 512M; a number is megabytes."),
      extents: arg.any("Size in extents, or a share such as 100%FREE."),
      snapshot: arg.string("The logical volume that this one is a snapshot of."),
      pv: arg.string("Physical volume to use."),
      thinvolume: arg.boolean("Creates a thin volume in the pool that vgname names as group/pool."),
      thinpool: arg.boolean("Creates a pool of thin volumes."),
      resizefs: arg.boolean("Also lets the file system grow; false by default."),
      force: arg.boolean("Accepted for trees of Salt; signatures of file systems are wiped."),
      ...optionArgs(lvOptions, "lvcreate"),
    },
    refuse: (args) =>
      optionProblem(args, lvOptions) ??
      (args.vgname === undefined && args.snapshot === undefined
        ? "give vgname"
        : (args.size === undefined) === (args.extents === undefined)
          ? "give either size or extents"
          : /^\d+(?:%(?:VG|FREE|PVS|ORIGIN))?$/.test(String(args.extents ?? 1))
            ? undefined
            : "extents: expected a number, or a share such as 100%FREE"),
    async plan(name, args, context) {
      const { vgname = "", snapshot, pv, thinvolume = false, thinpool = false, resizefs = false } = args;
      const [group = "", pool] = vgname.split("/");
      refuseWith(
        nameProblem(name) ?? nameProblem(group) ?? (pool === undefined ? undefined : nameProblem(pool)),
      );
      if (pv !== undefined) refuseWith(devicePathProblem(pv));
      if (snapshot !== undefined) refuseWith(nameProblem(snapshot));
      const system = systemOf(context);
      const found = (await logicalVolumes(system)).find((each) => each.group === group && each.name === name);
      const bytes = args.size === undefined ? undefined : parseSize("size", args.size, "m");
      const steps: Step[] = [];
      if (found === undefined) {
        const sized = thinvolume ? "-V" : "-L";
        const size = bytes === undefined ? ["-l", String(args.extents)] : [sized, `${bytes}b`];
        const argv = [
          ...["lvcreate", "--yes", "--wipesignatures", "y", ...size, ...optionWords(args, lvOptions)],
          ...(thinvolume ? ["-T", `${group}/${pool ?? ""}`, "-n", name] : []),
          ...(thinpool ? ["-T", `${group}/${name}`] : []),
          ...(snapshot === undefined ? [] : ["-s", "-n", name, `${group}/${snapshot}`]),
          ...(thinvolume || thinpool || snapshot !== undefined ? [] : ["-n", name, group]),
          ...(pv === undefined ? [] : [pv]),
        ];
        const run = async () => void (await succeed(system, `create the logical volume ${name}`, argv, slow));
        steps.push({ changes: { [`${group}/${name}`]: "created" }, run });
      } else if (bytes !== undefined && bytes > found.bytes) {
        const path = `${group}/${name}`;
        const argv = ["lvextend", "--yes", "-L", `${bytes}b`, ...(resizefs ? ["--resizefs"] : []), path];
        const run = async () => void (await succeed(system, `extend ${path}`, argv, slow));
        const rounded = Math.ceil(bytes / found.extent) * found.extent;
        if (rounded > found.bytes)
          steps.push({ changes: { [path]: { old: found.bytes, new: rounded } }, run });
      }
      return planSteps(
        steps,
        says(
          `the logical volume ${name}`,
          found === undefined ? "created" : "extended",
          `the logical volume ${name} exists`,
        ),
      );
    },
  }),
  defineState({
    name: "lvm.lv_absent",
    doc: "Ensures that a logical volume does not exist. Its data is lost; one in use is not removed.",
    args: { vgname: arg.string("Volume group.", { required: true }) },
    async plan(name, { vgname }, context) {
      refuseWith(nameProblem(name) ?? nameProblem(vgname));
      const system = systemOf(context);
      const path = `${vgname}/${name}`;
      const found = (await logicalVolumes(system)).some(
        (each) => each.group === vgname && each.name === name,
      );
      return found
        ? planRemoval(system, "logical volume", path, "lvremove")
        : unchanged(`the logical volume ${name} does not exist`);
    },
  }),
]);

function planRemoval(system: System, what: string, name: string, program: string): Plan {
  const run = async () => void (await succeed(system, `remove ${name}`, [program, "--yes", name], slow));
  return planSteps([{ changes: { [name]: "removed" }, run }], says(`the ${what} ${name}`, "removed"));
}

function nameProblem(name: string): string | undefined {
  if (/^[A-Za-z0-9_+.][A-Za-z0-9_+.-]{0,126}$/.test(name) && name !== "." && name !== "..") return undefined;
  return `${quote(name)} is not a name that LVM takes`;
}

function devicePathProblem(name: string): string | undefined {
  if (/^\/dev\/[^\s\0,]+$/.test(name) && !name.includes("/../")) return undefined;
  return `${quote(name)} is not a device, such as /dev/sdb`;
}

/** @throws StateFailure when a device contains something: pvcreate --yes would wipe it */
async function refuseInUse(system: System, device: string): Promise<void> {
  const { code, stdout } = await system.run(["blkid", "-p", "-o", "export", device]);
  const type = /^(?:TYPE|PTTYPE)=(.*)$/m.exec(stdout)?.[1];
  if (code === 0 && type !== undefined) {
    throw new StateFailure(`${device} contains ${type}: it is not overwritten; wipe it with wipefs first`);
  }
}
