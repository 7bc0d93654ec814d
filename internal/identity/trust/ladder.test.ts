import { expect, test } from "bun:test";
import { chooseRung, type TrustSources } from "./ladder.ts";

const enrollCa = { path: "/etc/ca.crt", pem: "one" };
const anchor = { path: "/data/auth/enroll-ca.crt", pem: "two" };
const nothing: TrustSources = { pins: [], hasCredentials: false, mode: "tofu" };

test("the first rung that applies wins", () => {
  const pins = ["sha256:00"];
  expect(chooseRung({ ...nothing, enrollCa, pins, anchor })).toEqual({ rung: 1, ca: enrollCa });
  expect(chooseRung({ ...nothing, pins, anchor })).toEqual({ rung: 2, pins });
  expect(chooseRung({ ...nothing, anchor })).toEqual({ rung: 3, ca: anchor });
  expect(chooseRung(nothing)).toEqual({ rung: 4, firstUse: true });
});

test("an empty file is still that rung", () => {
  expect(chooseRung({ ...nothing, enrollCa: { ...enrollCa, pem: "" } }).rung).toBe(1);
  expect(chooseRung({ ...nothing, anchor: { ...anchor, pem: "" } }).rung).toBe(3);
});

test("no trust on first use with credentials, or with strict trust", () => {
  expect(chooseRung({ ...nothing, hasCredentials: true })).toEqual({ rung: 4, firstUse: false });
  expect(chooseRung({ ...nothing, mode: "strict" })).toEqual({ rung: 4, firstUse: false });
});
