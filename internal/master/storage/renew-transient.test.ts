import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { AssetName } from "../../bus/assets/mod.ts";
import { renewTransient } from "./renew-transient.ts";

/** What is done when the streams are measured every ten seconds. */
async function doneWith(measured: readonly (readonly AssetName[])[]): Promise<string[]> {
  const clock = manualClock();
  const done: string[] = [];
  const start = clock.monotonic();
  const at = (text: string) => void done.push(`${(clock.monotonic() - start) / 1000} ${text}`);
  const check = renewTransient({
    ...{ clock, log: recordingLog() },
    drop: async (asset) => at(asset),
    provision: async () => at("provision"),
  });
  for (const silent of measured) {
    await check(silent);
    clock.advance(10_000);
  }
  return done;
}

const [sessions, nonces, jobs]: [AssetName[], AssetName[], AssetName[]] = [
  ["sessions"],
  ["request-nonces"],
  ["jobs"],
];

test.each<[string, AssetName[][], string[]]>([
  ["without a leader for 10 s", [sessions, sessions], ["10 sessions", "10 provision"]],
  ["without a leader at one moment", [sessions, [], sessions, []], []],
  ["one after the other", [sessions, nonces, sessions, nonces], []],
  [
    "two, of which one comes later",
    [sessions, [...sessions, ...nonces], nonces, nonces],
    ["10 sessions", "10 provision", "30 request-nonces", "30 provision"],
  ],
  ["while one on the disk has none", [sessions, [...sessions, ...jobs], sessions], []],
  ["one on the disk", [jobs, jobs, jobs, jobs], []],
])("streams in memory %s", async (_, measured, done) => {
  expect(await doneWith(measured)).toEqual(done);
});
