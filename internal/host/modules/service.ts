import { SvcError } from "../../base/errors.ts";
import {
  refuseServiceName,
  reloadUnits,
  type ServiceAction,
  type ServiceManager,
  servicesOf,
} from "../system/services/mod.ts";
import { systemOf } from "../system/system.ts";
import { arg, define } from "./define.ts";
import type { ArgSpec, CallContext, ModuleFunction } from "./function.ts";

const name = arg.string(
  "Name of a service, such as nginx; with systemd also another unit, such as backup.timer.",
  { required: true },
);
/** Events may name a service whose state changes now, but not one whose configuration changes. */
const nameFromData = { ...name, data: "name" } as const satisfies ArgSpec;

/** Functions that manage services with the service manager of the host. */
export const serviceFunctions: readonly ModuleFunction[] = [
  define({
    name: "service.status",
    plainArgs: true,
    doc: "Returns the status of a service as named by the service manager, and whether it starts at boot.",
    args: { name: nameFromData },
    refuse,
    async run({ name }, context) {
      const services = open(name, context);
      return { ...(await services.status(name)), enablement: services.enablement(name) };
    },
  }),
  define({
    name: "service.get_all",
    plainArgs: true,
    doc: "Lists all services.",
    args: {},
    run: (_, context) => [...servicesOf(systemOf(context)).names()],
  }),
  define({
    name: "service.available",
    plainArgs: true,
    doc: "Returns whether a service exists.",
    args: { name: nameFromData },
    refuse,
    run: ({ name }, context) => servicesOf(systemOf(context)).exists(name),
  }),
  define({
    name: "service.enabled",
    plainArgs: true,
    doc: "Returns whether a service starts at boot.",
    args: { name: nameFromData },
    refuse,
    run: ({ name }, context) => open(name, context).enablement(name) === "enabled",
  }),
  action("start", "Starts a service.", nameFromData),
  action("stop", "Stops a service.", nameFromData),
  action("restart", "Stops a service and starts it again.", nameFromData),
  action("reload", "Makes a service reload its configuration.", nameFromData),
  action("enable", "Makes a service start at boot."),
  action("disable", "Prevents a service from starting at boot."),
  action("mask", "Masks a systemd unit, so that nothing can start it."),
  define({
    name: "service.systemctl_reload",
    plainArgs: true,
    doc: "Makes systemd read its unit files again, as after a change of one (`systemctl daemon-reload`).",
    args: {},
    async run(_, context) {
      const system = systemOf(context);
      const { name: manager } = servicesOf(system);
      if (manager !== "systemd") {
        throw new SvcError("bad_request", `this host has no systemd: its services are those of ${manager}`);
      }
      await reloadUnits(system);
      return true;
    },
  }),
  action("unmask", "Unmasks a systemd unit, so that it can be started."),
];

function action(word: ServiceAction, doc: string, spec: typeof name = name): ModuleFunction {
  return define({
    name: `service.${word}`,
    plainArgs: true,
    doc,
    args: { name: spec },
    refuse,
    async run({ name }, context) {
      await open(name, context).change(word, name);
      return true;
    },
  });
}

function refuse({ name }: { name: string }): string | undefined {
  return refuseServiceName(name);
}

/** @throws SvcError `not_found` */
function open(name: string, context: CallContext): ServiceManager {
  const services = servicesOf(systemOf(context));
  if (services.exists(name)) return services;
  throw new SvcError(
    "not_found",
    `service ${JSON.stringify(name)} does not exist on this host (${services.name})`,
  );
}
