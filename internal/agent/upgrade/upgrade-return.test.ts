import { afterEach, beforeEach, expect, test } from "bun:test";
import { type ManualClock, manualClock } from "../../../test/harness/clock.ts";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { fixedSettings } from "../../../test/harness/settings.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { newId } from "../../base/id.ts";
import { returnSubject } from "../../bus/subjects/subjects.ts";
import { decodeReturn, type JobReturn } from "../../wire/return.ts";
import { type Local, openOutbox, startLocal } from "../daemon/local.ts";
import { createOutboxFiles } from "../link/outbox-files.ts";
import { noMask } from "../masking/mask.ts";
import { type StagedUpgrade, type UpgradeFiles, type UpgradeOutcome, upgradeFiles } from "./files.ts";

let temporary: ReturnType<typeof temporaryDirectory>;
let files: UpgradeFiles;
let clock: ManualClock;
let jid: string;
let staged: StagedUpgrade;
let outcome: UpgradeOutcome;
let life: Local;

beforeEach(async () => {
  temporary = temporaryDirectory("upgrade-return");
  files = upgradeFiles(temporary.path);
  clock = manualClock();
  jid = newId("job", clock.now(), () => new Uint8Array(16));
  const common = { jid, version: "2", from: "1" };
  staged = { ...common, sha256: "a".repeat(64), readyWithinMs: 1, deadline: clock.now() + 60_000 };
  outcome = { ...common, success: true, rolledBack: false, reason: "", at: clock.now() + 30_000 };
  // A life in which the job is accepted, and after which it has no end.
  life = start();
  expect(life.dedup.accept(jid, staged.deadline)).toBe("new");
});
afterEach(async () => {
  await life.stop();
  temporary[Symbol.dispose]();
});

function start(isWatched = true): Local {
  const facts = fixedFacts({ id: "web-1" });
  const options = { dataDir: temporary.path, clock, jitter: () => 0, log: recordingLog() };
  return startLocal({
    mask: () => noMask,
    ...options,
    ...openOutbox(options),
    peelId: "web-1",
    context: (signal) => ({ clock, facts, settings: fixedSettings(), signal }),
    isWatched,
  });
}
async function restart(isWatched = true): Promise<void> {
  await life.stop();
  life = start(isWatched);
}

/** The returns of the job that wait for a bus. */
function returns(): JobReturn[] {
  return createOutboxFiles(`${temporary.path}/outbox`, recordingLog())
    .load()
    .filter(({ message }) => message.subject === returnSubject(jid, "web-1"))
    .map(({ message }) => decodeReturn(message.payload));
}

test("a job whose upgrade waits or is tried out has no return yet; it comes when that is decided", async () => {
  files.writeRequest(staged);
  await restart();
  clock.advance(5_000);
  files.writeState({ trial: staged });
  files.removeRequest();
  clock.advance(5_000);
  expect(returns()).toEqual([]);
  files.writeState({ outcome });
  clock.advance(1_000);
  expect(returns()).toEqual([
    {
      success: true,
      retcode: 0,
      return: { version: "2", previous: "1", changed: true, rolled_back: false },
      started_at: "2026-01-01T00:00:00.000Z",
      duration_ms: 30_000,
    },
  ]);
  expect([life.dedup.unfinished(), life.counts.jobs.ok, life.counts.jobs.lost]).toEqual([[], 1, 0]);
});

test("a peel that starts after a rollback sends the return, with the reason, once", async () => {
  files.writeState({ outcome: { ...outcome, success: false, rolledBack: true, reason: "it ended 3 times" } });
  await restart();
  const [first, ...more] = returns();
  expect(more).toEqual([]);
  expect(first).toMatchObject({
    success: false,
    retcode: 1,
    error: "rolled back: it ended 3 times",
    return: { version: "2", previous: "1", changed: false, rolled_back: true, reason: "it ended 3 times" },
  });
  await restart();
  expect(returns()).toHaveLength(1);
});

test("a job without an upgrade, or without a watchdog, is lost", async () => {
  files.writeRequest({ ...staged, jid: "job-other" });
  await restart();
  expect(returns()).toMatchObject([{ success: false, outcome: "lost" }]);
});

test("without a watchdog the job is lost, and its request is removed", async () => {
  files.writeRequest(staged);
  await restart(false);
  expect(returns()).toMatchObject([{ success: false, outcome: "lost" }]);
  expect(files.request()).toBeUndefined();
});

test("an upgrade without any record still gets a return", async () => {
  files.writeState({ trial: staged });
  await restart();
  files.writeState({});
  clock.advance(1_000);
  expect(returns()).toMatchObject([
    { success: false, outcome: "lost", error: "the result of the upgrade is not known" },
  ]);
});

test("a finished job is reported once, even when its upgrade is decided twice", async () => {
  files.writeState({ outcome });
  expect([life.defer(jid), life.defer(jid)]).toEqual([true, true]);
  expect(returns()).toHaveLength(1);
});
