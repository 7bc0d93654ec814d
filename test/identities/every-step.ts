import { expect, test } from "bun:test";
import { isDecisive } from "../harness/steps/run.ts";
import { openKeyCommands } from "./key-commands.ts";
import { runKilled } from "./killed-commands.ts";
import { changes, openFleet, runCut, runKilledPeel } from "./killed-peel.ts";

// Everything that changes keys on a disk is ended at every single step: killed there, or on a disk that is full from
// there on.

const say = (what: string) => process.stdout.write(`${what}\n`);
const faults = ["kill", "full"] as const;

test("a peel that renews, recovers and replaces its key", async () => {
  await using fleet = await openFleet();
  const cut = await runCut(fleet);
  say(`${cut.runs} files that were cut`);
  expect(cut.wrong).toEqual([]);
  for (const how of faults) {
    for (const change of changes) {
      // A disk that is full elsewhere is tried in other tests.
      const picks = (step: string) => how === "kill" || /^\w+ auth\//.test(step);
      const { steps, missed, wrong } = await runKilledPeel(fleet, change, how, picks);
      say(`${change.name}, ${how}: ${steps} steps, ${missed.length} of them missed`);
      expect(wrong).toEqual([]);
      expect(missed.filter((step) => /^\w+ auth\//.test(step))).toEqual([]);
    }
  }
}, 900_000);

test("svc ca rotate, keys and fleet", async () => {
  await using opened = await openKeyCommands();
  for (const how of faults) {
    for (const command of opened.commands) {
      // Each run of the last one starts a server.
      const picks = how === "full" && command.name === "fleet succeed" ? isDecisive : undefined;
      const { steps, wrong } = await runKilled(opened.site, command, how, picks);
      say(`${command.name}, ${how}: ${steps} steps`);
      expect(wrong).toEqual([]);
    }
  }
}, 1_800_000);
