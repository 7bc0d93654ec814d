import { quote } from "../../../base/cut.ts";
import { systemOf } from "../../../host/system/system.ts";
import { defineState, type StateFunction } from "../../function/mod.ts";
import { planSteps, refuseWith, type Step, says } from "../steps.ts";

const configured = "/etc/hostname";
const running = "/proc/sys/kernel/hostname";

/** States of the host name. */
export const hostnameStates: readonly StateFunction[] = [
  defineState({
    name: "hostname.system",
    doc: "Ensures that the host has this name, now and after a reboot. Use host.present to change /etc/hosts.",
    args: {},
    plan(name, _, context) {
      refuseWith(refuseHostname(name));
      const system = systemOf(context);
      const steps: Step[] = [];
      const now = system.read(running)?.trim() ?? "";
      if (now !== name) {
        steps.push({
          changes: { hostname: { old: now, new: name } },
          run: () => system.poke(running, name),
        });
      }
      const kept = system.read(configured)?.trim() ?? "";
      if (kept !== name) {
        steps.push({
          changes: { [configured]: { old: kept, new: name } },
          run: () => system.write(configured, `${name}\n`),
        });
      }
      return planSteps(steps, says("the host name", `set to ${name}`, `the host name is ${name}`));
    },
  }),
];

/** See hostname(7); the kernel allows 64 bytes. */
function refuseHostname(name: string): string | undefined {
  const isName = /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/.test(
    name,
  );
  if (isName && name.length <= 64) return undefined;
  return `${quote(name)} is not a valid host name: use at most 64 letters, digits, hyphens and dots`;
}
