import type { createRegistry } from "../../program/health/mod.ts";
import { seconds } from "./readings.ts";

/** What is being replaced in a fleet, and how many peels that waits for. */
export interface RotationsView {
  /** Only with an embedded CA. */
  root?: {
    /** 1 for the phase that the rotation of the root is in. */
    phases: Record<"start" | "activate", number>;
    /** When the next root was made, milliseconds since the Unix epoch; absent without a rotation. */
    startedAt?: number | undefined;
    /** Alive members that do not report the next root; `undefined` while the fleet is not known. */
    lacking: number | undefined;
  };
  commandKey: {
    /** When the next key was made, milliseconds since the Unix epoch; absent without one. */
    startedAt?: number | undefined;
    /** Alive members that have not confirmed the next key; `undefined` while the fleet is not known. */
    unconfirmed: number | undefined;
  };
}

/** Adds the metrics of rotations, read at each scrape. */
export function showRotations(
  { gauge, gaugeBy }: Pick<ReturnType<typeof createRegistry>, "gauge" | "gaugeBy">,
  view: () => RotationsView | undefined,
): void {
  gaugeBy(
    "svc_root_rotation_phase",
    "1 for the phase that the rotation of the root is in, start or activate",
    "phase",
    () => view()?.root?.phases,
  );
  gauge(
    "svc_root_rotation_started_timestamp_seconds",
    "When the next root was made, seconds since the Unix epoch; NaN while no root is rotated",
    () => seconds(view()?.root?.startedAt),
  );
  gauge(
    "svc_root_rotation_lacking_peels",
    "Peels with a recent heartbeat that do not report the next root",
    () => view()?.root?.lacking,
  );
  gauge(
    "svc_command_key_rotation_started_timestamp_seconds",
    "When the next command key was made, seconds since the Unix epoch; NaN while none is replaced",
    () => seconds(view()?.commandKey.startedAt),
  );
  gauge(
    "svc_command_key_unconfirmed_peels",
    "Peels with a recent heartbeat that have not confirmed the next command key",
    () => view()?.commandKey.unconfirmed,
  );
}
