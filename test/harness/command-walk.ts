import { systemClock } from "../../internal/base/clock.ts";
import type { TestBus } from "./bus.ts";
import { cli } from "./cli.ts";

const [job, rollout] = ["job-3MTjXmu1B1JqO5dMBpj4BG197Ud", "rol-3MTjXrcOnoaO2POte0v2HwZCCDM"];
const limitMs = 10_000;

/** Every command of `svc` that needs the bus and no file; those about an enrollment come in any order. */
const commandsOf = (enrollment: string): string[][] => [
  ...["list", "strays"].map((verb) => ["enroll", verb]),
  ...["show", "approve", "suspend", "resume", "clear-clone", "restore"].map((verb) => [
    ...["enroll", verb, enrollment],
  ]),
  ...["revoke", "reject", "discard"].map((verb) => ["enroll", verb, enrollment]),
  ["enroll", "label", enrollment, "env=lab"],
  ["enroll", "expected", "list"],
  ["enroll", "policy", "explain"],
  ["enroll", "policy", "test", "--peel", "web-1"],
  ["enroll", "expected", "remove", "elsewhere"],
  ["enroll", "token", "create"],
  ["enroll", "token", "list"],
  ...["show", "revoke"].map((verb) => ["enroll", "token", verb, "jtk-3MTjXljDE3X9B12cKkqBYn3ND1Y"]),
  ["peels", "list"],
  ["peels", "list", "--output", "ansible"],
  ["peels", "show", "member"],
  ["facts", "get", "member"],
  ["facts", "find", "*", "--show", "os"],
  ["facts", "count", "os"],
  ["facts", "history", "member"],
  ["events", "--since", "1m"],
  ["settings", "show", "member"],
  ["settings", "explain", "member", "app"],
  ["console", "--no-open"],
  ["status"],
  ["doctor"],
  ["doctor", "member"],
  ["run", "member", "test.ping", "--async"],
  ["run", "member", "test.ping", "--timeout", "2s"],
  ["job", "list"],
  ...["show", "watch", "cancel"].map((verb) => ["job", verb, job]),
  ["rollout", "list"],
  ["rollout", "start", "member", "test.ping"],
  ...["show", "watch", "pause", "resume", "abort"].map((verb) => ["rollout", verb, rollout]),
  ...["status", "rules", "reset"].map((verb) => ["reactor", verb]),
  ["bus", "verify"],
];

/**
 * Runs all commands at the same time.
 *
 * @param enrollment that some of them are about
 * @returns the exit codes by command, and the commands that took longer than 10 s or said nothing
 */
export async function runEveryCommand(
  bus: TestBus,
  enrollment = "enr-3MTjXljDE3X9B12cKkqBYn3ND1Y",
): Promise<{ exits: Map<string, number>; faults: string[] }> {
  const faults: string[] = [];
  const exits = new Map<string, number>();
  await Promise.all(
    commandsOf(enrollment).map(async (argv) => {
      const began = systemClock.monotonic();
      const { exit, stdout, stderr } = await cli(bus, ...argv);
      const tookMs = Math.round(systemClock.monotonic() - began);
      const command = argv.join(" ");
      exits.set(command, exit);
      if (tookMs > limitMs) faults.push(`${command} took ${tookMs} ms`);
      if (exit > 1 || (stdout + stderr).trim() === "") faults.push(`${command}: ${exit} ${stderr}`);
    }),
  );
  return { exits, faults };
}
