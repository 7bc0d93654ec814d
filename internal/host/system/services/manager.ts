import { quote } from "../../../base/cut.ts";

/**
 * Whether a service starts at boot. `static`: other units start it, and it cannot be enabled; `masked`: it
 * cannot be started.
 */
export type Enablement = "enabled" | "disabled" | "static" | "masked";

export interface ServiceStatus {
  active: boolean;
  /** The state as named by the service manager: `running`, `failed`, `dead`. */
  state: string;
}

/** The service manager of a host. */
export interface ServiceManager {
  /** `systemd`, `openrc`, `sysv`. */
  readonly name: string;
  /** Sorted names of all services. */
  names(): readonly string[];
  exists(service: string): boolean;
  enablement(service: string): Enablement;
  /** @throws SvcError when the query fails */
  status(service: string): Promise<ServiceStatus>;
  /** @throws SvcError with the error output */
  change(action: ServiceAction, service: string): Promise<void>;
}

export type ServiceAction =
  | "start"
  | "stop"
  | "restart"
  | "reload"
  | "enable"
  | "disable"
  | "mask"
  | "unmask";

/** The problem with a service name, if any. It must not look like an option or a path. */
export function refuseServiceName(name: string): string | undefined {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.@:\\-]*$/.test(name)) return undefined;
  return `${quote(name)} is not a valid service name`;
}
