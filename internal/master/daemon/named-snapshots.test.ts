import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { SvcError } from "../../base/errors.ts";
import type { Content } from "../../wire/content.ts";
import { namedSnapshots } from "./named-snapshots.ts";

const content = (digit: string): Content => ({
  environment: "base",
  commit: "local",
  snapshot: digit.repeat(64),
});
const log = recordingLog();
const rollout = (digit: string) => ({ content: content(digit) }) as never;

test("requests that wait, rollouts and jobs name their files, in the order in which one starts the next", async () => {
  const read: string[] = [];
  const noted = <T>(name: string, found: T[]) => {
    return async () => {
      read.push(name);
      return found;
    };
  };
  const found = await namedSnapshots({
    approvals: () => ({ contents: noted("approvals", [content("a")]) }),
    rollouts: { running: noted("rollouts", [rollout("b"), {} as never]) },
    jobs: { contents: noted("jobs", [content("c"), content("a")]) },
    releases: { caughtUp: async () => {}, snapshots: () => new Set(["d".repeat(64)]) },
    log,
  });
  expect(found).toEqual(new Set(["a", "b", "c", "d"].map((digit) => digit.repeat(64))));
  expect(read).toEqual(["approvals", "rollouts", "jobs"]);
});

test("what cannot be read is not known, and so nothing is removed", async () => {
  const releases = { caughtUp: async () => {}, snapshots: () => new Set<string>() };
  const rest = { rollouts: { running: async () => [] }, jobs: { contents: async () => [] }, releases, log };
  expect(await namedSnapshots({ ...rest, approvals: () => undefined })).toBeUndefined();
  const contents = () => Promise.reject(new SvcError("storage", "no answer"));
  expect(await namedSnapshots({ ...rest, approvals: () => ({ contents }) })).toBeUndefined();
  const caughtUp = () => Promise.reject(new SvcError("unavailable", "no answer"));
  const known = { ...rest, approvals: () => ({ contents: async () => [] }) };
  expect(await namedSnapshots({ ...known, releases: { ...releases, caughtUp } })).toBeUndefined();
});
