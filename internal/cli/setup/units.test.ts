import { expect, test } from "bun:test";
import { usualLimits } from "../../agent/watchdog/limits.ts";
import { peelUnit } from "./units.ts";

const unit = peelUnit({
  author: "a test",
  program: "/usr/bin/svc-peel",
  config: "/etc/svc/peel.yaml",
  dataDir: "/var/lib/svc-peel",
});

test("the unit of a peel starts the watchdog, with the configuration of the peel", () => {
  expect(unit).toContain("\nExecStart=/usr/bin/svc-peel watchdog --config /etc/svc/peel.yaml\n");
});

test("the peel of a unit is stopped by its watchdog alone, which has the time for it", () => {
  // With control-group the peel would get two signals, and the second one ends it at once.
  expect(unit).toContain("\nKillMode=mixed\n");
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
  expect(seconds * 1_000).toBeGreaterThan(usualLimits.stopMs + 5_000);
});
