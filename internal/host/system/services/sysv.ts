import { SvcError } from "../../../base/errors.ts";
import { type System, succeed } from "../system.ts";
import type { Enablement, ServiceManager } from "./manager.ts";

const directory = "/etc/init.d";
/** Directories of links to the scripts, by run level. */
const levels = [2, 3, 4, 5].flatMap((level) => [`/etc/rc${level}.d`, `/etc/rc.d/rc${level}.d`]);
const changeTimeoutMs = 600_000;

/** Services as scripts in /etc/init.d, where no other service manager is running. */
export function sysvServices(system: System): ServiceManager {
  const act = (service: string, word: string) => [`${directory}/${service}`, word];
  return {
    name: "sysv",
    names: () => system.list(directory).filter((name) => name !== "README" && name !== "functions"),
    exists: (service) => system.exists(`${directory}/${service}`),
    enablement: (service) => sysvEnablement(system, service) ?? "disabled",
    async status(service) {
      // LSB: 0 is running; 1 to 3 are not.
      const { code } = await system.run(act(service, "status"));
      return { active: code === 0, state: code === 0 ? "running" : "stopped" };
    },
    async change(action, service) {
      if (action === "mask" || action === "unmask") {
        throw new SvcError("bad_request", `cannot ${action} ${service}: only systemd can`);
      }
      const argv =
        action === "enable" || action === "disable"
          ? enabling(system, action, service)
          : act(service, action);
      await succeed(system, `${action} ${service}`, argv, { timeoutMs: changeTimeoutMs });
    },
  };
}

/** Whether a script starts at boot; `undefined` when it does not exist. */
export function sysvEnablement(system: System, service: string): Enablement | undefined {
  if (!system.exists(`${directory}/${service}`)) return undefined;
  const started = system.memo("started scripts", () => {
    const links = levels.flatMap((level) => system.list(level));
    return new Set(links.flatMap((name) => /^S\d\d(.+)$/.exec(name)?.[1] ?? []));
  });
  return started.has(service) ? "enabled" : "disabled";
}

function enabling(system: System, action: "enable" | "disable", service: string): string[] {
  if (system.has("update-rc.d")) {
    // A script without links gets its default links.
    const fresh = !levels.some((level) =>
      system.list(level).some((name) => /^[SK]\d\d/.test(name) && name.slice(3) === service),
    );
    return ["update-rc.d", service, action === "enable" && fresh ? "defaults" : action];
  }
  if (system.has("chkconfig")) return ["chkconfig", service, action === "enable" ? "on" : "off"];
  throw new SvcError("bad_request", `cannot ${action} ${service}: looked for update-rc.d, chkconfig`);
}
