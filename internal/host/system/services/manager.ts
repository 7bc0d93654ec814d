/**
 * Whether a service starts with the host. `static`: others start it, and there is nothing to enable;
 * `masked`: nothing can start it.
 */
export type Enablement = "enabled" | "disabled" | "static" | "masked";

export interface ServiceStatus {
  active: boolean;
  /** In the words of the service manager: `running`, `failed`, `dead`. */
  state: string;
}

/** The program that runs the services of a host. */
export interface ServiceManager {
  /** `systemd`, `openrc`, `sysv`. */
  readonly name: string;
  /** Names of the services there are, sorted. */
  names(): readonly string[];
  exists(service: string): boolean;
  enablement(service: string): Enablement;
  /** @throws SvcError when it cannot be found out */
  status(service: string): Promise<ServiceStatus>;
  /** @throws SvcError with what the program said */
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

/** What is wrong with the name of a service, which must not look like an option or a path. */
export function refuseServiceName(name: string): string | undefined {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.@:\\-]*$/.test(name)) return undefined;
  return `${JSON.stringify(name.slice(0, 80))} is no name of a service`;
}
