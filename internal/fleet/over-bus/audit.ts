import { type AuditAction, adminQueue, auditRequestSubject } from "../../bus/mod.ts";
import { type AuditDeps, listAudit, readChain, showAudit } from "../audit/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: AuditAction) => ({ subject: auditRequestSubject(action), queue: adminQueue });

export const auditOverBus = {
  list: overBus({ operation: listAudit, ...at("list") }),
  show: overBus({ operation: showAudit, ...at("show") }),
  chain: overBus({ operation: readChain, ...at("chain") }),
};

/** Serves the readers of the audit; any master answers. */
export function serveAudit(door: BusDoor, deps: AuditDeps): void {
  serve(door, auditOverBus.list, deps);
  serve(door, auditOverBus.show, deps);
  serve(door, auditOverBus.chain, deps);
}
