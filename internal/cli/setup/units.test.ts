import { expect, test } from "bun:test";
import { usualLimits } from "../../agent/watchdog/limits.ts";
import { masterUnit, peelUnit } from "./units.ts";

const options = {
  author: "a test",
  program: "/usr/bin/svc-peel",
  config: "/etc/svc/peel.yaml",
  dataDir: "/var/lib/svc-peel",
};
const unit = peelUnit(options);

test("a unit has started when the daemon reports it, and a master has time to wait for its bus", () => {
  const master = masterUnit({ ...options, user: "svc" });
  for (const text of [unit, master]) expect(text).toContain("\nType=notify\n");
  expect(master).toContain("\nTimeoutStartSec=infinity\n");
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
