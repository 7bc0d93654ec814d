import { adminQueue, rolesSubject } from "../../bus/mod.ts";
import { mayDo, type RoleOperationDeps, showRoles } from "../roles/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

export const rolesOverBus = {
  show: overBus({ operation: showRoles, subject: rolesSubject("show"), queue: adminQueue }),
  can: overBus({ operation: mayDo, subject: rolesSubject("can"), queue: adminQueue }),
};

export function serveRoles(door: BusDoor, deps: RoleOperationDeps): void {
  serve(door, rolesOverBus.show, deps);
  serve(door, rolesOverBus.can, deps);
}
