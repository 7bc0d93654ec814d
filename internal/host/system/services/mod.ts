export { refuseServiceName, type ServiceAction, type ServiceManager } from "./manager.ts";
export { servicesOf } from "./open.ts";
export { reloadUnits } from "./systemd.ts";
export { unitEnablement } from "./unit-files.ts";
