import { expect, test } from "bun:test";
import { systemRandom } from "../../base/id.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import type { Caller, OperatorCaller } from "../operation/mod.ts";
import { isSealedTo, sealToOf } from "./seal-to.ts";

const [key, other] = [newKeyPair("user", systemRandom), newKeyPair("user", systemRandom)];
const curve = deriveCurveKey(key).publicKey;
const mayReveal = (roles: readonly string[]) => roles.includes("admin");
const signed = { envelope: new Uint8Array(), subject: "svc.job.request" };
const ann: OperatorCaller = {
  ...{ kind: "operator", name: "ann", door: "bus", roles: ["admin"], key: key.publicKey, signed },
};

test.each(["settings.get", "settings.items", "pillar.get", "pillar.items"])(
  "%s is sealed to an operator who signed, and may reveal settings",
  (name) => {
    expect(sealToOf(ann, name, mayReveal)).toBe(curve);
  },
);

test.each<[string, Caller, string?]>([
  ["the function hides nothing", ann, "settings.ls"],
  ["the role does not reveal", { ...ann, roles: ["operator"] }],
  ["the caller is a token", { kind: "operator", name: "ci", door: "rest", roles: ["admin"] }],
  ["nobody signed", { kind: "operator", name: "ann", door: "bus" }],
  ["the caller has credentials without roles", { kind: "operator", name: "ann", door: "direct" }],
  ["a rule asks", { kind: "reactor", rule: "r", door: "reactor" }],
])("nothing is sealed where %s", (_, caller, name = "settings.get") => {
  expect(sealToOf(caller, name, mayReveal)).toBeUndefined();
});

test("a job is sealed to the one operator with this key", () => {
  expect(isSealedTo(ann, { sealTo: curve })).toBe(true);
  // The box is theirs, whatever they may do now.
  expect(isSealedTo({ ...ann, roles: [] }, { sealTo: curve })).toBe(true);
  expect(isSealedTo({ ...ann, key: other.publicKey }, { sealTo: curve })).toBe(false);
  expect(isSealedTo({ kind: "operator", name: "ann", door: "rest" }, { sealTo: curve })).toBe(false);
  expect(isSealedTo(ann, {})).toBe(false);
});
