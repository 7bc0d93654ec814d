import { expect, test } from "bun:test";
import { choicesOf, statusOf } from "./approval.ts";
import { lastText } from "./last-files.ts";

const waiting = { state: "waiting", asked_by: "ann", agreed: ["cid"] } as const;
const request = { ...waiting, agreed: [...waiting.agreed] };
const may = { roles: ["admin"], mayApprove: true, mayDeny: true };

test("only who may, and neither asked nor agreed, is offered to approve", () => {
  const offered = (name: string, more = {}) => choicesOf(request, { name, ...may, ...more });
  expect(offered("bob")).toEqual({ approve: true, deny: "Deny" });
  expect(offered("bob", { mayApprove: false })).toEqual({ approve: false, deny: "Deny" });
  expect(offered("bob", { mayDeny: false })).toEqual({ approve: true, deny: undefined });
  expect(offered("ann")).toMatchObject({ approve: false, deny: "Withdraw", why: expect.any(String) });
  expect(offered("cid")).toMatchObject({ approve: false, deny: "Deny", why: expect.any(String) });
  expect(offered("bob", { roles: undefined })).toMatchObject({ approve: false, deny: undefined });
});

test("what waits no longer offers nothing", () => {
  for (const state of ["started", "denied", "expired"] as const) {
    expect(choicesOf({ ...request, state }, { name: "bob", ...may })).toEqual({
      approve: false,
      deny: undefined,
    });
  }
});

test("each state has a word and a look", () => {
  expect(statusOf({ state: "waiting" }).outcome).toBe("running");
  expect(statusOf({ state: "started", outcome: "done" })).toEqual({ word: "done", outcome: "ok" });
  expect(statusOf({ state: "started", outcome: "failed" }).outcome).toBe("failed");
  expect(statusOf({ state: "expired" }).outcome).toBe("timeout");
});

test("a group says which peels it has and what they ran last", () => {
  const none = { added: 0, changed: 0, removed: 0, files: [], left_out: 0 };
  const ran = { last: "ran" as const, environment: "base", snapshot: "ab".repeat(32) as never, ...none };
  expect(lastText({ peels: 1, such_as: ["web-1"], ...ran })).toBe(
    "1 peel, web-1: ran base abababababab last",
  );
  expect(lastText({ peels: 1_200, such_as: ["web-1"], last: "never_ran", ...none })).toBe(
    "1,200 peels, such as web-1: never ran",
  );
});
