import { quote } from "../../../base/cut.ts";
import { parseMountInfo } from "../../../host/facts/mod.ts";
import { arg, argumentProblem } from "../../../host/modules/mod.ts";
import { fstabEntry, fstabPath, withEntry, withoutEntry } from "../../../host/system/fstab.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { planSteps, refuseWith, type Step, says } from "../steps.ts";

const mountTimeoutMs = 120_000;
/** Mount points that the host needs to work. */
const vital = ["/", "/usr", "/etc", "/bin", "/sbin", "/lib", "/proc", "/sys", "/dev", "/run", "/boot"];

/** States of mounts. */
export const mountStates: readonly StateFunction[] = [
  defineState({
    name: "mount.mounted",
    doc: "Ensures that a file system is mounted on a directory, now and after a reboot.",
    args: {
      device: arg.string("Device, such as /dev/sdb1, UUID=…, server:/path or tmpfs.", { required: true }),
      fstype: arg.string("Type of the file system, such as ext4.", { required: true }),
      opts: arg.strings("Mount options; defaults by default."),
      dump: arg.integer("The dump field of fstab(5); 0 by default.", { min: 0, max: 2 }),
      pass_num: arg.integer("The fsck order at boot, as in fstab(5); 0 by default.", { min: 0, max: 2 }),
      mkmnt: arg.boolean("Creates the directory; false by default."),
      persist: arg.boolean(`Adds an entry to ${fstabPath}; true by default.`),
      mount: arg.boolean("Mounts it now; true by default."),
    },
    refuse: ({ fstype, opts = [], device }) =>
      [fstype, ...opts].some((each) => !/^[^\s\0]+$/.test(each))
        ? "fstype and opts: must not contain white space"
        : /^[^\n\0-][^\n\0]*$/.test(device)
          ? undefined
          : "device: expected a device such as /dev/sdb1 or UUID=…",
    plan(name, args, context) {
      refuseWith(refusePath(name));
      const system = systemOf(context);
      const { device, fstype, opts = ["defaults"], persist = true, mount = true, mkmnt = false } = args;
      const options = opts.join(",");
      const steps: Step[] = [];
      const entry = { device, path: name, fstype, options, dump: args.dump ?? 0, pass: args.pass_num ?? 0 };
      const kept = fstabEntry(system.read(fstabPath) ?? "", name);
      const differs = persist && JSON.stringify(kept) !== JSON.stringify(entry);
      const mounted = mountedOn(system, name);
      if (mount && mounted === undefined) {
        if (!system.exists(name)) {
          if (!mkmnt)
            throw new StateFailure(`directory ${name} does not exist; set mkmnt: true to create it`);
          steps.push({ changes: { [`${name} directory`]: "made" }, run: () => system.makeDirectories(name) });
        }
        const argv = ["mount", "-t", fstype, "-o", options, device, name];
        steps.push({
          changes: { [name]: { old: "", new: device } },
          run: async () => void (await succeed(system, `mount ${name}`, argv, { timeoutMs: mountTimeoutMs })),
        });
      } else if (mount && mounted !== undefined && !isSameDevice(system, device, mounted)) {
        throw new StateFailure(
          `${mounted.source} is mounted on ${name} instead of ${device}; unmount it first`,
        );
      } else if (mount && kept !== undefined && differs && kept.options !== options) {
        const argv = ["mount", "-o", `remount,${options}`, name];
        steps.push({
          changes: { [`${name} options`]: { old: kept.options, new: options } },
          run: async () => void (await succeed(system, `remount ${name}`, argv)),
        });
      }
      if (differs) {
        steps.push({
          changes: { [fstabPath]: { old: { ...kept }, new: { ...entry } } },
          run: () => system.write(fstabPath, withEntry(system.read(fstabPath) ?? "", entry)),
        });
      }
      return planSteps(steps, says(name, "mounted", `${name} is mounted as requested`));
    },
  }),
  defineState({
    name: "mount.unmounted",
    doc: "Ensures that nothing is mounted on a directory.",
    args: {
      persist: arg.boolean(`Also removes the entry from ${fstabPath}; false by default.`),
    },
    plan(name, { persist = false }, context) {
      refuseWith(refusePath(name) ?? refuseVital(name));
      const system = systemOf(context);
      const steps: Step[] = [];
      const mounted = mountedOn(system, name);
      if (mounted !== undefined) {
        steps.push({
          changes: { [name]: { old: mounted.source, new: "" } },
          async run() {
            await succeed(system, `unmount ${name}`, ["umount", name], { timeoutMs: mountTimeoutMs });
            if (mountedOn(system, name) !== undefined) {
              throw new StateFailure(`something else is still mounted on ${name}`);
            }
          },
        });
      }
      const kept = fstabEntry(system.read(fstabPath) ?? "", name);
      if (persist && kept !== undefined) {
        steps.push({
          changes: { [fstabPath]: { old: { ...kept }, new: "" } },
          run: () => system.write(fstabPath, withoutEntry(system.read(fstabPath) ?? "", name)),
        });
      }
      return planSteps(steps, says(name, "unmounted", `nothing is mounted on ${name}`));
    },
  }),
];

/** The mount visible on a directory: the last one hides earlier ones. */
function mountedOn(system: System, path: string): { source: string; fstype: string } | undefined {
  const mounts = parseMountInfo(system.read("/proc/self/mountinfo") ?? "");
  return mounts.findLast((mount) => mount.path === path);
}

/**
 * Whether the mounted source is this device, under any of its names. Of bind mounts only the file system is
 * known.
 */
function isSameDevice(
  system: System,
  device: string,
  { source, fstype }: { source: string; fstype: string },
): boolean {
  if (device === source || fstype === "tmpfs") return true;
  const [, key = "", value = ""] = /^(UUID|LABEL|PARTUUID|PARTLABEL)="?(.*?)"?$/.exec(device) ?? [];
  const link = key === "" ? device : `/dev/disk/by-${key.toLowerCase()}/${value}`;
  const target = system.linkTarget(link)?.split("/").at(-1);
  if (target !== undefined) return source.split("/").at(-1) === target || source === link;
  return device.startsWith("/") && !device.startsWith("/dev/");
}

function refusePath(path: string): string | undefined {
  const problem = argumentProblem(arg.path(""), path);
  if (problem === undefined && (path === "/" || !path.endsWith("/"))) return undefined;
  return `${quote(path, 200)} is not an absolute path, or ends with a slash`;
}

function refuseVital(path: string): string | undefined {
  return vital.includes(path) ? `${path} is never unmounted, because the host needs it` : undefined;
}
