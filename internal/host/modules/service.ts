import { SvcError } from "../../base/errors.ts";
import { refuseServiceName, type ServiceAction, type ServiceManager } from "../system/services/manager.ts";
import { servicesOf } from "../system/services/open.ts";
import { systemOf } from "../system/system.ts";
import { define } from "./define.ts";
import type { ArgSpec, CallContext, ModuleFunction } from "./function.ts";

const name = {
  type: "string",
  required: true,
  doc: "Name of a service, such as nginx; with systemd also of another unit, such as backup.timer.",
} as const satisfies ArgSpec;

/** Functions of services, by the service manager of the host. */
export const serviceFunctions: readonly ModuleFunction[] = [
  define({
    name: "service.status",
    doc: "Tells whether a service runs, in the words of the service manager, and whether it starts with the host.",
    args: { name },
    refuse,
    async run({ name }, context) {
      const services = open(name, context);
      return { ...(await services.status(name)), enablement: services.enablement(name) };
    },
  }),
  define({
    name: "service.get_all",
    doc: "Lists the services there are.",
    args: {},
    run: (_, context) => [...servicesOf(systemOf(context)).names()],
  }),
  define({
    name: "service.available",
    doc: "Tells whether there is such a service.",
    args: { name },
    refuse,
    run: ({ name }, context) => servicesOf(systemOf(context)).exists(name),
  }),
  define({
    name: "service.enabled",
    doc: "Tells whether a service starts with the host.",
    args: { name },
    refuse,
    run: ({ name }, context) => open(name, context).enablement(name) === "enabled",
  }),
  action("start", "Starts a service."),
  action("stop", "Stops a service."),
  action("restart", "Stops a service and starts it again."),
  action("reload", "Makes a service read its configuration again."),
  action("enable", "Makes a service start with the host."),
  action("disable", "Makes a service not start with the host."),
  action("mask", "Makes it impossible to start a unit of systemd."),
  action("unmask", "Makes it possible again to start a unit of systemd."),
];

function action(word: ServiceAction, doc: string): ModuleFunction {
  return define({
    name: `service.${word}`,
    doc,
    args: { name },
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
  throw new SvcError("not_found", `this host has no service ${JSON.stringify(name)} (${services.name})`);
}
