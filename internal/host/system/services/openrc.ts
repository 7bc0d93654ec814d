import { SvcError } from "../../../base/errors.ts";
import { type System, succeed } from "../system.ts";
import type { ServiceManager } from "./manager.ts";

const directory = "/etc/init.d";
const levels = "/etc/runlevels";
const changeTimeoutMs = 600_000;

/** Run levels that shut down a host. */
const ending = ["off", "shutdown", "recovery"];

/**
 * Services of OpenRC. A service counts as enabled when any run level starts it; enabling adds it to
 * `default`.
 */
export function openrcServices(system: System): ServiceManager {
  const levelsOf = (service: string) =>
    system
      .list(levels)
      .filter((level) => !ending.includes(level) && system.list(`${levels}/${level}`).includes(service));
  return {
    name: "openrc",
    names: () => system.list(directory).filter((name) => name !== "functions.sh"),
    exists: (service) => system.exists(`${directory}/${service}`),
    enablement: (service) => (levelsOf(service).length > 0 ? "enabled" : "disabled"),
    async status(service) {
      // 0 is started; 3 is stopped, 16 inactive, 32 crashed.
      const { code } = await system.run(["rc-service", service, "status"]);
      return { active: code === 0, state: code === 0 ? "started" : code === 32 ? "crashed" : "stopped" };
    },
    async change(action, service) {
      const run = (argv: readonly string[]) =>
        succeed(system, `${action} ${service}`, argv, { timeoutMs: changeTimeoutMs });
      if (action === "enable") await run(["rc-update", "add", service, "default"]);
      else if (action === "disable") {
        for (const level of levelsOf(service)) await run(["rc-update", "del", service, level]);
      } else if (action === "mask" || action === "unmask") {
        throw new SvcError("bad_request", `cannot ${action} ${service}: only systemd can`);
      } else await run(["rc-service", service, action]);
    },
  };
}
