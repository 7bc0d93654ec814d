import { SvcError } from "../../../base/errors.ts";
import type { System } from "../system.ts";
import type { ServiceManager } from "./manager.ts";
import { openrcServices } from "./openrc.ts";
import { systemdServices } from "./systemd.ts";
import { sysvServices } from "./sysv.ts";

/**
 * Opens the service manager of a host according to the fact `init`. Where none is running, as in a container
 * or an image, systemd units can still be enabled and scripts in /etc/init.d can be run.
 *
 * @throws SvcError `bad_request` naming the supported service managers
 */
export function servicesOf(system: System): ServiceManager {
  return system.memo("service manager", () => open(system));
}

function open(system: System): ServiceManager {
  const init = system.fact("init");
  if (init === "systemd") return systemdServices(system, true);
  if (init === "openrc") return openrcServices(system);
  if (init !== "sysvinit" && system.has("systemctl")) return systemdServices(system, false);
  if (system.exists("/etc/init.d")) return sysvServices(system);
  throw new SvcError(
    "bad_request",
    "service: no supported service manager found: looked for systemd, OpenRC, /etc/init.d",
  );
}
