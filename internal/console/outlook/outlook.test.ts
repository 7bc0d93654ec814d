import { expect, test } from "bun:test";
import { outlookOf } from "./outlook.ts";

test("what will happen is said as a master decides it", () => {
  expect(outlookOf("pending")).toEqual({ words: "It runs", open: "pending" });
  expect(outlookOf({ allowed: true, rule: "role admin, built in", approvals: 0 })).toEqual({
    words: "It runs at once",
  });
  // Credentials without roles have no rule.
  expect(outlookOf({ allowed: true })).toEqual({ words: "It runs at once" });
  expect(outlookOf({ allowed: true, rule: "role careful, roles.yaml:3", approvals: 1 })).toEqual({
    words: "It waits until another operator agrees, and then runs",
    rule: "role careful, roles.yaml:3",
  });
  expect(outlookOf({ allowed: true, approvals: 3 }).words).toBe(
    "It waits until 3 other operators agree, and then runs",
  );
  expect(outlookOf({ allowed: false, reason: "no rule allows cmd.run" })).toEqual({
    words: "It would run",
    refused: "Your roles do not allow it: no rule allows cmd.run.",
  });
});

test("of a decision the same is said, and what no master has said is distinguished", () => {
  const decision = { subject: "Each decision", does: "takes effect", infinitive: "take effect" };
  const wordsOf = (...pending: Parameters<typeof outlookOf>) => outlookOf(...pending).words;
  expect(wordsOf({ allowed: true }, decision)).toBe("Each decision takes effect at once");
  expect(wordsOf({ allowed: true, approvals: 1 }, decision)).toBe(
    "Each decision waits until another operator agrees, and then takes effect",
  );
  expect(wordsOf({ allowed: false }, decision)).toBe("Each decision would take effect");
  expect(outlookOf("unknown", decision).open).toBe("unknown");
});
