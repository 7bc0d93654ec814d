import { expect, test } from "bun:test";
import { judgeIdentities } from "./identities.ts";

const none = { clones: [], copied: [], suspended: [] };
const at = "2026-01-01T00:00:00.000Z";
const clone = (name: string) => ({ id: `enr-${name}`, peel_id: `${name}_example_com`, seen_at: at });

test("no marked peel is well", () => {
  expect(judgeIdentities(none)).toEqual({ level: "ok", message: "no two hosts hold one" });
});

test("a suspected clone is a failure that names the peel and the command, whatever else there is", () => {
  const suspended = [{ id: "enr-s", peel_id: "loud", at, reason: "flood" }];
  expect(judgeIdentities({ ...none, clones: [clone("web-1")], suspended })).toEqual({
    level: "fail",
    message: `another host holds the identity of web-1.example.com (last seen at ${at}): the data directory was copied`,
    next: expect.stringContaining("svc enroll clear-clone enr-web-1"),
  });
  const many = ["a-1", "a-2", "a-3", "a-4", "a-5"].map(clone);
  expect(judgeIdentities({ ...none, clones: many }).message).toContain("a-3.example.com (last seen at ");
  expect(judgeIdentities({ ...none, clones: many }).message).toContain(") and 2 more: ");
});

test("suspended peels and copied hosts are warnings", () => {
  const suspended = [{ id: "enr-s", peel_id: "loud", at, reason: "flood of returns" }];
  expect(judgeIdentities({ ...none, suspended })).toEqual({
    level: "warn",
    message: "suspended: loud (flood of returns)",
    next: "examine the host; then svc enroll resume enr-s",
  });
  const copied = [{ id: "enr-c", peel_id: "old", copied_at: at }];
  expect(judgeIdentities({ ...none, copied })).toMatchObject({
    level: "warn",
    message: `a copy asked to join of the host of old (${at})`,
  });
});
