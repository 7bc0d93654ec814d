import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { isDecisive } from "../harness/steps/run.ts";
import {
  changes,
  type Fleet,
  openFleet,
  renewOnFullDisk,
  runCut,
  runKilledPeel,
} from "../identities/killed-peel.ts";

// A peel that is killed where a file takes its place, whose files are cut, and whose disk is full. make identities does
// it at every step, and with every file.

setDefaultTimeout(120_000);

let fleet: Fleet & AsyncDisposable;

beforeAll(async () => {
  fleet = await openFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

const picks = (step: string) => /^\w+ auth\//.test(step) && isDecisive(step);

test.each(changes)(
  "a $name that was killed is completed by the next start, which leaves nothing behind",
  async (change) => {
    const { steps, missed, wrong } = await runKilledPeel(fleet, change, "kill", picks);
    expect({ missed, wrong }).toEqual({ missed: [], wrong: [] });
    expect(steps).toBeGreaterThan(1);
  },
);

test("a full disk before the first write of a recovery does not end the peel", async () => {
  const [, recovery] = changes;
  if (recovery === undefined) throw new Error("there is no recovery");
  const first = (step: string) => /^open auth\/\..*\.enrollment\./.test(step);
  expect(await runKilledPeel(fleet, recovery, "full", first)).toEqual({ steps: 1, missed: [], wrong: [] });
});

test("files that are empty or cut in half are replaced, or the peel says what to do", async () => {
  const { runs, wrong } = await runCut(fleet, (file) => /creds|next-seed|ID.seed/.test(file));
  expect(wrong).toEqual([]);
  expect(runs).toBeGreaterThan(5);
});

test("a peel on a full disk keeps its credentials and names the file, and renews after room was made", async () => {
  await renewOnFullDisk(fleet);
});
