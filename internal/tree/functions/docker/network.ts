import { defined } from "../../../base/defined.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says } from "../steps.ts";
import { difference } from "./difference.ts";
import { engineArgs, isJson, type Json, nameProblem, openEngine, part } from "./engine.ts";
import { mapOf } from "./translate.ts";

/** States of networks of Docker. */
export const networkStates: readonly StateFunction[] = deferring([
  defineState({
    name: "docker_network.present",
    doc: "Ensures that a network exists. One with another configuration is replaced while no container is in it.",
    args: {
      driver: arg.string("Driver; bridge by default."),
      driver_opts: arg.any("Options of the driver."),
      subnet: arg.string("Network in CIDR notation."),
      ip_range: arg.string("Range of addresses for containers."),
      gateway: arg.string("Address of the gateway."),
      internal: arg.boolean("Has no way out; false by default."),
      attachable: arg.boolean("Lets containers of other hosts in; false by default."),
      enable_ipv6: arg.boolean("Also has IPv6 addresses; false by default."),
      labels: arg.any("Labels, as a map or a list."),
      ...engineArgs,
    },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const engine = openEngine(args, context);
      const { subnet, ip_range, gateway } = args;
      const pool = {
        ...defined({ Subnet: subnet, IPRange: ip_range, Gateway: gateway }),
      };
      const wanted: Json = {
        ...defined({ Driver: args.driver }),
        ...(args.driver_opts === undefined ? {} : { Options: mapOf("driver_opts", args.driver_opts) }),
        ...defined({ Internal: args.internal, Attachable: args.attachable, EnableIPv6: args.enable_ipv6 }),
        ...(args.labels === undefined ? {} : { Labels: mapOf("labels", args.labels) }),
        ...(Object.keys(pool).length === 0 ? {} : { IPAM: { Config: [pool] } }),
      };
      const found = await engine.get(`/networks/${part(name)}`);
      const differs = found === undefined ? [] : difference(wanted, found);
      const create = async () =>
        void (await engine.send(`create the network ${name}`, "POST", "/networks/create", {
          Name: name,
          ...wanted,
        }));
      const steps: Step[] = [];
      if (found === undefined) steps.push({ changes: { [name]: "created" }, run: create });
      else if (differs.length > 0) {
        const inside = isJson(found.Containers) ? Object.keys(found.Containers).length : 0;
        if (inside > 0) {
          throw new StateFailure(
            `${name} has another ${differs.join(", ")}, and ${inside} containers are in it`,
          );
        }
        steps.push({
          changes: { [name]: { replaced: differs } },
          async run() {
            await engine.send(`remove the network ${name}`, "DELETE", `/networks/${part(name)}`);
            await create();
          },
        });
      }
      return planSteps(
        steps,
        says(
          `the network ${name}`,
          found === undefined ? "created" : "replaced",
          `the network ${name} is as requested`,
        ),
      );
    },
  }),
  absent("docker_network.absent", "network", "/networks"),
]);

/** States of volumes of Docker. */
export const volumeStates: readonly StateFunction[] = deferring([
  defineState({
    name: "docker_volume.present",
    doc: "Ensures that a volume exists. One with another driver is not replaced.",
    args: {
      driver: arg.string("Driver; local by default."),
      driver_opts: arg.any("Options of the driver, for a new volume."),
      ...engineArgs,
    },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const engine = openEngine(args, context);
      const found = await engine.get(`/volumes/${part(name)}`);
      const { driver, driver_opts } = args;
      if (found !== undefined && driver !== undefined && found.Driver !== driver) {
        throw new StateFailure(`the volume ${name} has the driver ${String(found.Driver)}: remove it first`);
      }
      const body: { [key: string]: Plain } = {
        Name: name,
        ...defined({ Driver: driver }),
        ...(driver_opts === undefined ? {} : { DriverOpts: mapOf("driver_opts", driver_opts) }),
      };
      const run = async () =>
        void (await engine.send(`create the volume ${name}`, "POST", "/volumes/create", body));
      return planSteps(
        found === undefined ? [{ changes: { [name]: "created" }, run }] : [],
        says(`the volume ${name}`, "created", `the volume ${name} exists`),
      );
    },
  }),
  absent("docker_volume.absent", "volume", "/volumes"),
]);

function absent(name: string, what: string, path: string): StateFunction {
  return defineState({
    name,
    doc: `Ensures that a ${what} does not exist. One that a container uses is not removed.`,
    args: engineArgs,
    async plan(object, args, context) {
      refuseWith(nameProblem(object));
      const engine = openEngine(args, context);
      const found = await engine.get(`${path}/${part(object)}`);
      const run = async () =>
        void (await engine.send(`remove ${object}`, "DELETE", `${path}/${part(object)}`));
      return planSteps(
        found === undefined ? [] : [{ changes: { [object]: "removed" }, run }],
        says(`the ${what} ${object}`, "removed", `the ${what} ${object} does not exist`),
      );
    },
  });
}
