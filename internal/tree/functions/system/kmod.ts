import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import {
  filesLoading,
  isBuiltIn,
  isLoaded,
  loadFile,
  withModule,
  withoutModule,
} from "../../../host/system/kernel-modules.ts";
import { succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { editFile } from "../sources/file-step.ts";
import { planSteps, refuseWith, type Step } from "../steps.ts";

const mods = arg.strings("Several modules in place of the name.");

/** States of kernel modules. */
export const kmodStates: readonly StateFunction[] = [
  defineState({
    name: "kmod.present",
    doc: "Ensures that kernel modules are loaded.",
    args: {
      persist: arg.boolean("Also loads them at boot; false by default."),
      mods,
    },
    async plan(name, { persist = false, mods: several }, context) {
      const system = systemOf(context);
      const names = several ?? [name];
      const steps = names.flatMap((module): Step[] => {
        refuseWith(moduleProblem(module));
        const found: Step[] = [];
        if (!isLoaded(system, module) && !isBuiltIn(system, module)) {
          found.push({
            changes: { [module]: "loaded" },
            async run() {
              await succeed(system, `load ${module}`, ["modprobe", module]);
              if (!isLoaded(system, module))
                throw new StateFailure(`modprobe ran, but ${module} is not loaded`);
            },
          });
        }
        return found;
      });
      const lasting = names.filter((module) => persist && filesLoading(system, module).length === 0);
      if (lasting.length > 0) {
        const path = loadFile(system);
        steps.push(...(await editFile(system, path, (text) => lasting.reduce(withModule, text))));
      }
      return planSteps(steps, {
        fine: `${names.join(", ")}: loaded`,
        due: `${names.join(", ")}: would be loaded`,
        done: `${names.join(", ")}: loaded now`,
      });
    },
  }),
  defineState({
    name: "kmod.absent",
    doc: "Ensures that kernel modules are not loaded.",
    args: {
      persist: arg.boolean("Also stops loading them at boot; false by default."),
      comment: arg.boolean("Keeps the lines of the boot files as comments; true by default."),
      mods,
    },
    async plan(name, { persist = false, comment = true, mods: several }, context) {
      const system = systemOf(context);
      const names = several ?? [name];
      const steps = names.flatMap((module): Step[] => {
        refuseWith(moduleProblem(module));
        if (isBuiltIn(system, module)) {
          throw new StateFailure(`${module} is a part of the running kernel and cannot be unloaded`);
        }
        if (!isLoaded(system, module)) return [];
        return [
          {
            changes: { [module]: "unloaded" },
            async run() {
              await succeed(system, `unload ${module}`, ["modprobe", "-r", module]);
              if (isLoaded(system, module)) throw new StateFailure(`${module} is still loaded`);
            },
          },
        ];
      });
      const paths = new Set(persist ? names.flatMap((module) => filesLoading(system, module)) : []);
      for (const path of paths) {
        const change = (text: string) =>
          names.reduce((left, module) => withoutModule(left, module, comment), text);
        steps.push(...(await editFile(system, path, change)));
      }
      return planSteps(steps, {
        fine: `${names.join(", ")}: not loaded`,
        due: `${names.join(", ")}: would be unloaded`,
        done: `${names.join(", ")}: unloaded`,
      });
    },
  }),
];

function moduleProblem(name: string): string | undefined {
  if (/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/.test(name)) return undefined;
  return `${quote(name)} is not a name of a kernel module`;
}
