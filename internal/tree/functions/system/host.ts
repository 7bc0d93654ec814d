import { isIP } from "node:net";
import { quote } from "../../../base/cut.ts";
import { keepLineEnds } from "../../../base/files/line-ends.ts";
import { canonicalAddress } from "../../../base/names/ip-address.ts";
import { arg } from "../../../host/modules/mod.ts";
import {
  hostsPath,
  parseHosts,
  withHost,
  withOnlyHosts,
  withoutHost,
} from "../../../host/system/hosts-file.ts";
import { type System, systemOf } from "../../../host/system/system.ts";
import { defineState, type Plan, type StateFunction } from "../../function/mod.ts";
import { planSteps, refuseWith, says } from "../steps.ts";

/** States of /etc/hosts. Unaffected lines are preserved, with their comments. */
export const hostStates: readonly StateFunction[] = [
  defineState({
    name: "host.present",
    doc: "Ensures that a host name has these addresses.",
    args: {
      ip: arg.strings("One or more addresses.", { required: true }),
      clean: arg.boolean("Removes the name from other addresses; false by default."),
    },
    refuse: ({ ip }) => refuseAddresses(ip),
    plan(name, { ip: addresses, clean = false }, context) {
      refuseWith(refuseHost(name));
      return planHosts(systemOf(context), `the host ${name}`, (text) => {
        const others = addressesOf(text, name).filter(
          (each) => clean && !addresses.some((address) => canonicalAddress(address) === each),
        );
        const cleaned = others.reduce((left, each) => withoutHost(left, each, name), text);
        return addresses.reduce(
          (left, each) =>
            parseHosts(left).get(canonicalAddress(each))?.includes(name) ? left : withHost(left, each, name),
          cleaned,
        );
      });
    },
  }),
  defineState({
    name: "host.absent",
    doc: "Ensures that a host name does not have these addresses.",
    args: { ip: arg.strings("One or more addresses; all by default.") },
    refuse: ({ ip }) => refuseAddresses(ip ?? []),
    plan(name, { ip: addresses }, context) {
      refuseWith(refuseHost(name));
      return planHosts(systemOf(context), `the host ${name}`, (text) =>
        (addresses ?? addressesOf(text, name)).reduce((left, each) => withoutHost(left, each, name), text),
      );
    },
  }),
  defineState({
    name: "host.only",
    doc: "Ensures that an address, given as the name of the state, has exactly these host names.",
    args: {
      hostnames: arg.strings("The host names. An empty list removes the address.", { required: true }),
    },
    refuse: ({ hostnames }) => hostnames.map(refuseHost).find((each) => each),
    plan(name, { hostnames }, context) {
      refuseWith(refuseAddresses([name]));
      return planHosts(systemOf(context), `the address ${name}`, (text) => {
        const now = parseHosts(text).get(canonicalAddress(name)) ?? [];
        return now.join(" ") === hostnames.join(" ") ? text : withOnlyHosts(text, name, hostnames);
      });
    },
  }),
];

function planHosts(system: System, what: string, edit: (text: string) => string): Plan {
  const before = system.read(hostsPath) ?? "";
  const after = keepLineEnds(before, edit);
  const run = () => system.write(hostsPath, keepLineEnds(system.read(hostsPath) ?? "", edit));
  const steps = after === before ? [] : [{ changes: { [hostsPath]: difference(before, after) }, run }];
  return planSteps(steps, says(what, "changed", `${what} is in the desired state`));
}

/** The removed and the added lines. */
function difference(before: string, after: string): { old: string[]; new: string[] } {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return { old: old.filter((line) => !now.includes(line)), new: now.filter((line) => !old.includes(line)) };
}

function addressesOf(text: string, name: string): string[] {
  return [...parseHosts(text)].filter(([, names]) => names.includes(name)).map(([address]) => address);
}

function refuseAddresses(addresses: readonly string[]): string | undefined {
  const wrong = addresses.find((each) => isIP(each.replace(/%.*$/, "")) === 0);
  return wrong === undefined ? undefined : `${quote(wrong)} is not an IP address`;
}

function refuseHost(name: string): string | undefined {
  if (/^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/.test(name)) return undefined;
  return `${quote(name)} is not a valid host name`;
}
