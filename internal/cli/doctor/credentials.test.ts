import { expect, test } from "bun:test";
import { judgeClone, judgeCredentials, recoveryWindowOf } from "./credentials.ts";

const day = 24 * 3600_000;
const now = Date.UTC(2026, 0, 1);
const base = { id: "enr-1", state: "active" as const };

test.each([
  ["just renewed", { renewedAt: now - day, credsExpiresAt: now + 179 * day }, "ok", "renewed 0 times"],
  ["just due", { issuedAt: now - 120 * day, credsExpiresAt: now + 60 * day }, "ok", "valid until"],
  ["overdue", { issuedAt: now - 150 * day, credsExpiresAt: now + 30 * day }, "warn", "is due since"],
  [
    "ended",
    { issuedAt: now - 200 * day, credsExpiresAt: now - 20 * day },
    "fail",
    "may recover them until 2026-12-12T00:00:00.000Z, by the usual enroll.recovery_window",
  ],
  ["ended long ago", { credsExpiresAt: now - 366 * day }, "fail", "longer ago"],
  ["never issued", {}, "skip", "no credentials yet"],
] as const)("credentials that are %s", (_, fields, level, text) => {
  const finding = judgeCredentials({ ...base, ...fields }, now, recoveryWindowOf([]));
  expect([finding.level, finding.message]).toEqual([level, expect.stringContaining(text)]);
  if (level !== "ok") expect(finding.next).toBeString();
});

test.each([
  [
    "30 days",
    [{ recovery_window_ms: 30 * day }],
    "may recover them until 2026-01-11T00:00:00.000Z, by the enroll",
  ],
  [
    "too short",
    [{ recovery_window_ms: 19 * day }],
    "longer ago than the enroll.recovery_window of the masters",
  ],
  ["off", [{ recovery_window_ms: 0 }], "enroll.recovery_window is 0: it cannot recover them"],
  [
    "not the same everywhere",
    [{ recovery_window_ms: 400 * day }, { recovery_window_ms: 30 * day }],
    "2026-01-11",
  ],
  ["not reported by one", [{}, { recovery_window_ms: 30 * day }], "2026-01-11"],
  ["not reported", [{}], "2026-12-12T00:00:00.000Z, by the usual enroll.recovery_window"],
] as const)("a recovery window that is %s", (_, masters, text) => {
  const ended = { ...base, credsExpiresAt: now - 20 * day };
  const finding = judgeCredentials(ended, now, recoveryWindowOf(masters));
  expect(finding).toMatchObject({
    level: "fail",
    message: expect.stringContaining(text),
    next: expect.any(String),
  });
});

test("a suspected clone is a failure that names the command", () => {
  const record = { ...base, peelId: "a", publicKey: "U", curvePublicKey: "X", createdAt: 0, updatedAt: 0 };
  expect(judgeClone(record, {}, now)).toMatchObject({
    level: "ok",
    message: expect.stringContaining("renewal"),
  });
  const since = "2026-01-01T00:00:00.000Z";
  const one = judgeClone(record, { one_instance_since: since, restored_at: since }, now);
  expect(one).toMatchObject({
    level: "ok",
    message: `only one instance of it was seen since ${since}; its host was set back to an earlier state at ${since}`,
  });
  for (const { message } of [judgeClone(record, {}, now), one])
    expect(message).not.toContain("no other host");
  const found = judgeClone({ ...record, cloneSuspected: true, cloneSeenAt: now }, {}, now);
  expect(found).toMatchObject({
    level: "fail",
    next: expect.stringContaining("svc enroll clear-clone enr-1"),
  });
});

test("a copy that asked to join is a warning for a day", () => {
  const record = { ...base, peelId: "a", publicKey: "U", curvePublicKey: "X", createdAt: 0, updatedAt: 0 };
  const levelAfter = (ms: number) => judgeClone({ ...record, copiedAt: now - ms }, {}, now).level;
  expect([levelAfter(0), levelAfter(day - 1), levelAfter(day)]).toEqual(["warn", "warn", "ok"]);
});
