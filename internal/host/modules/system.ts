import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { parseCrontab, readCrontab } from "../system/crontab.ts";
import { hostsPath, parseHosts } from "../system/hosts-file.ts";
import { runningValue } from "../system/sysctl.ts";
import { systemOf } from "../system/system.ts";
import { currentZone } from "../system/timezone.ts";
import { arg, define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

/** Functions that return the configuration of a host, each in the module of its states. */
export const systemFunctions: readonly ModuleFunction[] = [
  define({
    name: "cron.list_tab",
    doc: "Returns the entries and the text of a user's crontab.",
    args: { user: arg.string("Owner of the crontab; root by default.") },
    async run({ user = "root" }, context) {
      const text = await readCrontab(systemOf(context), user);
      return {
        entries: parseCrontab(text)
          .entries()
          .map((entry) => ({ ...entry })),
        text,
      };
    },
  }),
  define({
    name: "hosts.list_hosts",
    doc: "Returns the host names of /etc/hosts, by address.",
    args: {},
    run: (_, context) => Object.fromEntries(parseHosts(systemOf(context).read(hostsPath) ?? "")),
  }),
  define({
    name: "sysctl.get",
    doc: "Returns the value of a kernel parameter.",
    args: {
      name: arg.string("Name of the parameter, such as net.ipv4.ip_forward.", { required: true }),
    },
    run({ name }, context) {
      const value = runningValue(systemOf(context), name);
      if (value !== undefined) return value;
      throw new SvcError("not_found", `the kernel has no parameter ${quote(name)}`);
    },
  }),
  define({
    name: "timezone.get_zone",
    doc: "Returns the name of the time zone.",
    args: {},
    run: (_, context) => currentZone(systemOf(context)) ?? null,
  }),
];
