import { quote } from "../../../base/cut.ts";
import { keepLineEnds } from "../../../base/files/line-ends.ts";
import type { Mount } from "../../../host/facts/mod.ts";
import { arg, argumentProblem } from "../../../host/modules/mod.ts";
import {
  type FstabEntry,
  fstabEntries,
  fstabPath,
  withEntry,
  withoutEntry,
} from "../../../host/system/fstab.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { planSteps, refuseWith, type Step, says } from "../steps.ts";
import { isSameSource } from "./mount-source.ts";
import { mountOn, mountTable, tablePath } from "./mount-table.ts";

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
      const real = tablePath(system, name);
      const [kept] = entriesOf(system, name, real);
      const path = kept?.path ?? name;
      const entry = { device, path, fstype, options, dump: args.dump ?? 0, pass: args.pass_num ?? 0 };
      const differs = persist && JSON.stringify(kept) !== JSON.stringify(entry);
      const mounted = mountOn(mountTable(system), real);
      if (mount && mounted === undefined) {
        if (!system.exists(real)) {
          if (!mkmnt)
            throw new StateFailure(`directory ${name} does not exist; set mkmnt: true to create it`);
          steps.push({ changes: { [`${name} directory`]: "made" }, run: () => system.makeDirectories(name) });
        }
        const argv = ["mount", "-t", fstype, "-o", options, device, name];
        steps.push({
          changes: { [name]: { old: "", new: device } },
          run: async () => void (await succeed(system, `mount ${name}`, argv, { timeoutMs: mountTimeoutMs })),
        });
      } else if (mount && mounted !== undefined && !isSameSource(system, { device, fstype, opts }, mounted)) {
        throw new StateFailure(
          `${shown(mounted)} is mounted on ${name} instead of ${device}; unmount it first`,
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
          run: () =>
            system.write(
              fstabPath,
              keepLineEnds(system.read(fstabPath) ?? "", (text) => withEntry(text, entry)),
            ),
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
      const real = tablePath(system, name);
      refuseWith(refuseVital(real));
      const steps: Step[] = [];
      const mounted = mountOn(mountTable(system), real);
      if (mounted !== undefined) {
        steps.push({
          changes: { [name]: { old: shown(mounted), new: "" } },
          run: () => unmountAll(system, name, real),
        });
      }
      for (const kept of persist ? entriesOf(system, name, real) : []) {
        steps.push({
          changes: { [fstabPath]: { old: { ...kept }, new: "" } },
          run: () =>
            system.write(
              fstabPath,
              keepLineEnds(system.read(fstabPath) ?? "", (text) => withoutEntry(text, kept.path)),
            ),
        });
      }
      return planSteps(steps, says(name, "unmounted", `nothing is mounted on ${name}`));
    },
  }),
];

/** One mount may hide others on the same directory. */
async function unmountAll(system: System, name: string, real: string): Promise<void> {
  const on = () => mountOn(mountTable(system), real);
  for (let mounted = on(); mounted !== undefined; ) {
    await succeed(system, `unmount ${name}`, ["umount", real], { timeoutMs: mountTimeoutMs });
    const next = on();
    if (next?.id === mounted.id) throw new StateFailure(`${shown(next)} is still mounted on ${name}`);
    mounted = next;
  }
}

/** What is mounted, for people: of a bind mount or a subvolume also which directory. */
function shown({ source, fstype, root }: Mount): string {
  const what = source === "none" ? fstype : source;
  return root === "/" ? what : `${what}[${root}]`;
}

/** The entries of a mount point, also under other names of the same directory; the given name first. */
function entriesOf(system: System, path: string, real: string): FstabEntry[] {
  const entries = fstabEntries(system.read(fstabPath) ?? "");
  const others = entries.filter((entry) => entry.path.startsWith("/") && entry.path !== path);
  return [
    ...entries.filter((entry) => entry.path === path).slice(0, 1),
    ...others.filter((entry) => tablePath(system, entry.path) === real),
  ];
}

function refusePath(path: string): string | undefined {
  const problem = argumentProblem(arg.path(""), path);
  if (problem === undefined && (path === "/" || !path.endsWith("/"))) return undefined;
  return `${quote(path, 200)} is not an absolute path, or ends with a slash`;
}

function refuseVital(path: string): string | undefined {
  return vital.includes(path) ? `${path} is never unmounted, because the host needs it` : undefined;
}
