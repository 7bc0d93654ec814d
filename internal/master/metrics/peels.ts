import type { createRegistry } from "../../program/health/mod.ts";

/** What is known of the members of the fleet. A part that has not started shows nothing. */
export interface PeelsView {
  /** Members whose heartbeat is recent. */
  peelsAlive?(): number | undefined;
  /** Members, by what their last state run says. */
  compliance?(): Readonly<Record<string, number>> | undefined;
  /** Number of suspended peels. */
  peelsSuspended?(): number;
}

/** Shows which members are alive, as described, and suspended. */
export function showPeels(
  { gauge, gaugeBy }: Pick<ReturnType<typeof createRegistry>, "gauge" | "gaugeBy">,
  view: () => PeelsView,
): void {
  gauge("svc_peels_alive", "Members of the fleet whose heartbeat is recent", () => view().peelsAlive?.());
  gaugeBy(
    "svc_compliance_peels",
    "Members of the fleet, by what their last state run says: described, drifted, failed, stale after 24 hours, never",
    "status",
    () => view().compliance?.(),
  );
  gauge("svc_peels_suspended", "Peels that are suspended", () => view().peelsSuspended?.());
}
