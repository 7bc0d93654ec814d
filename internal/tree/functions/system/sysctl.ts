import { keepLineEnds } from "../../../base/files/line-ends.ts";
import { arg } from "../../../host/modules/mod.ts";
import {
  configuredValue,
  normalized,
  runningValue,
  setRunningValue,
  sysctlPath,
  withValue,
} from "../../../host/system/sysctl.ts";
import { systemOf } from "../../../host/system/system.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { planSteps, type Step, says } from "../steps.ts";

/** States of kernel parameters. */
export const sysctlStates: readonly StateFunction[] = [
  defineState({
    name: "sysctl.present",
    doc: "Ensures that a kernel parameter has a value, now and after a reboot.",
    args: {
      value: arg.string("The value, such as 1 or 4096 87380 6291456.", { required: true }),
      config: arg.path(`File that persists the value; ${sysctlPath} by default.`),
    },
    refuse: ({ value }) => (/[\n\r\0]/.test(value) ? "value: must not contain a line break" : undefined),
    plan(name, { value: written, config = sysctlPath }, context) {
      const system = systemOf(context);
      const value = normalized(written);
      const running = runningValue(system, name);
      if (running === undefined) throw new StateFailure(`the kernel has no parameter ${name}`);
      const steps: Step[] = [];
      if (running !== value) {
        steps.push({
          changes: { [name]: { old: running, new: value } },
          run() {
            setRunningValue(system, name, value);
            const now = runningValue(system, name);
            if (now !== value) throw new StateFailure(`the kernel changed the value of ${name} to ${now}`);
          },
        });
      }
      const text = system.read(config) ?? "";
      const configured = configuredValue(text, name);
      if (configured !== value) {
        steps.push({
          changes: { [config]: { old: configured ?? "", new: value } },
          run: () =>
            system.write(
              config,
              keepLineEnds(text, (plain) => withValue(plain, name, value)),
            ),
        });
      }
      return planSteps(steps, says(name, `set to ${value}`, `${name} is ${value}`));
    },
  }),
];
