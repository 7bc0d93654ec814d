import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../../test/harness/process.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { usualLimits } from "../../agent/watchdog/limits.ts";
import { joinDropIn, masterUnit, peelUnit } from "./units.ts";

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

test("a drop-in makes the unit of a peel join first, and is the one of the packages and of the page", async () => {
  const dropIn = joinDropIn({ program: "/usr/bin/svc-peel", token: "/etc/svc/join-token" });
  const page = readFileSync(join(import.meta.dir, "../../../docs/joining.md"), "utf8");
  expect(page).toContain(`\n\`\`\`ini\n${dropIn}\`\`\`\n`);
  const tool = Bun.which("systemd-analyze");
  if (tool === null) return;
  using files = temporaryDirectory("units");
  const at = join(files.path, "svc-peel.service");
  // Programs that exist on every host, which is what the tool looks for.
  const here = (text: string) => text.replaceAll("/usr/bin/svc-peel", "/bin/sh");
  writeFileSync(at, here(unit));
  mkdirSync(`${at}.d`);
  writeFileSync(join(`${at}.d`, "join.conf"), here(dropIn));
  const { code, stderr } = await runProgram([tool, "verify", "--man=no", at]);
  expect([code, stderr]).toEqual([0, ""]);
});
