import { packagesOf } from "../../host/system/packages/mod.ts";
import { refuseServiceName, type ServiceManager, servicesOf } from "../../host/system/services/mod.ts";
import { systemOf } from "../../host/system/system.ts";
import { type HostFunction, type HostTools, reading, text } from "./function.ts";

const services = ({ context }: HostTools): ServiceManager => servicesOf(systemOf(context));
const isThere = (name: string, tools: HostTools): boolean =>
  refuseServiceName(name) === undefined && services(tools).exists(name);

/** Functions that look at packages and services of the host. */
export const softwareFunctions: readonly HostFunction[] = [
  reading(
    "pkg.version",
    ["name"],
    "Returns the installed version of a package; an empty text without it.",
    async (args, { context }) => {
      const installed = await packagesOf(systemOf(context)).installed();
      return installed.get(text(args, "name"))?.join(",") ?? "";
    },
  ),
  reading(
    "pkg.list_pkgs",
    [],
    "Returns the installed packages with their versions.",
    async (_, { context }) => {
      const installed = await packagesOf(systemOf(context)).installed();
      return Object.fromEntries([...installed].map(([name, versions]) => [name, versions.join(",")]));
    },
  ),
  reading("service.available", ["name"], "Returns whether a service exists.", (args, tools) =>
    isThere(text(args, "name"), tools),
  ),
  reading(
    "service.missing",
    ["name"],
    "Returns whether a service does not exist.",
    (args, tools) => !isThere(text(args, "name"), tools),
  ),
  reading("service.enabled", ["name"], "Returns whether a service starts at boot.", (args, tools) => {
    const name = text(args, "name");
    return isThere(name, tools) && services(tools).enablement(name) === "enabled";
  }),
  reading(
    "service.disabled",
    ["name"],
    "Returns whether a service does not start at boot.",
    (args, tools) => {
      const name = text(args, "name");
      return !isThere(name, tools) || services(tools).enablement(name) !== "enabled";
    },
  ),
  reading("service.status", ["name"], "Returns whether a service runs.", async (args, tools) => {
    const name = text(args, "name");
    return isThere(name, tools) && (await services(tools).status(name)).active;
  }),
  reading("service.get_all", [], "Lists all services.", (_, tools) => [...services(tools).names()]),
];
