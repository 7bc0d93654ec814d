import { describe, expect, test } from "bun:test";
import { systemRandom } from "../base/id.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { openRequest, type SignedRequest, signRequest } from "./signed-request.ts";
import { judgeRequest, type RequestRegistry } from "./verify-request.ts";

const key = newKeyPair("user", systemRandom);
const now = Date.UTC(2026, 5, 1);
const ann = { name: "ann", publicKey: key.publicKey, roles: ["operator"] };
const registry: RequestRegistry = {
  judge(name, given) {
    if (name === "eve")
      return { refused: "eve is disabled: an operator with role admin runs svc operator enable eve" };
    if (name !== ann.name) return { refused: `the operator ${name} does not exist` };
    return given === key.publicKey ? { operator: ann } : { refused: "ann has another key" };
  },
};
const subject = "svc.admin.enroll.approve";
const made = (change: Partial<SignedRequest> = {}, signer = key) =>
  openRequest(
    signRequest(
      subject,
      { body: new Uint8Array(3), operator: "ann", sentAt: now, nonce: systemRandom(16), ...change },
      signer,
    ),
  );

test.each([-60_000, -1, 0, 59_999, 60_000])("a clock that is %d ms off is close enough", (off) => {
  expect(judgeRequest(made({ sentAt: now + off }), subject, { registry, now })).toEqual({ operator: ann });
});

describe("refused", () => {
  const cases: [why: string, request: SignedRequest, at: string, says: string][] = [
    ["late", made({ sentAt: now - 60_001 }), subject, "1m behind the clock of this master: set the clock"],
    ["a clock ahead", made({ sentAt: now + 125_000 }), subject, "2m5s ahead of the clock of this master"],
    ["a year off", made({ sentAt: now - 31_536_000_000 }), subject, "365d behind"],
    ["misdirected", made(), "svc.admin.enroll.reject", "its signature is wrong for svc.admin.enroll.reject"],
    ["tampered", { ...made(), body: new Uint8Array(4) }, subject, "it was changed on its way"],
    ["under another name", { ...made(), operator: "root" }, subject, "the request of root is refused"],
    ["unknown", made({ operator: "bob" }), subject, "the operator bob does not exist"],
    [
      "disabled",
      made({ operator: "eve" }),
      subject,
      "an operator with role admin runs svc operator enable eve",
    ],
    ["another key", made({}, newKeyPair("user", systemRandom)), subject, "ann has another key"],
  ];
  test.each(cases)("%s", (_, request, at, says) => {
    const judged = judgeRequest(request, at, { registry, now });
    const refused = "refused" in judged ? judged.refused : "accepted";
    expect(refused).toInclude(says);
    expect(refused).toInclude(request.operator);
    expect(refused).not.toInclude("\n");
  });
});
