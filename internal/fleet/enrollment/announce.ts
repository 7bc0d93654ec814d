import type { Call } from "../operation/mod.ts";
import type { Enrollment } from "./record/mod.ts";

/** Logs a decision in the words of the specification, whatever door the request used. */
export function announce(
  { log, note }: Call,
  action: keyof typeof pastOf,
  { id, peelId }: Enrollment,
  operator: string,
  more: Record<string, unknown> = {},
): void {
  note?.({ enrollment_id: id });
  log.info(pastOf[action], { enrollment_id: id, peel_id: peelId, operator });
  log.info("enrollment admin operation", { action, id, operator, peel_id: peelId, ...more });
}

const pastOf = {
  approve: "enrollment approved",
  reject: "enrollment rejected",
  revoke: "enrollment revoked",
  suspend: "enrollment suspended",
  resume: "enrollment resumed",
  restore: "enrollment restored",
  label: "enrollment labelled",
  "clear-clone": "enrollment clone mark cleared",
};
