import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { systemClock } from "../../../base/clock.ts";
import { systemRandom } from "../../../base/id.ts";
import { createAuthority } from "../../../identity/ca/mod.ts";
import { formatJoinToken } from "../../../identity/join-token/mod.ts";
import { spkiPin } from "../../../identity/trust/mod.ts";
import { vouchedToken } from "./vouched.ts";

const id = "jtk-3MTjXljDE3X9B12cKkqBYn3ND1Y";
const foreign = `sha256:${"ab".repeat(32)}`;
const files = temporaryDirectory("vouched");
afterAll(() => files[Symbol.dispose]());
let ca = "";
let pin = "";

beforeAll(async () => {
  const dir = join(files.path, "ca");
  const rootValidityMs = 24 * 3_600_000;
  await createAuthority({
    ...{ dir, organization: "Test", rootValidityMs, clock: systemClock, random: systemRandom },
  });
  ca = readFileSync(join(dir, "root.crt"), "utf8");
  pin = spkiPin(ca);
});

const tokenOf = (...pins: string[]) =>
  formatJoinToken({ urls: ["https://svc:8443"], pins, id, secret: systemRandom(32) });

test("only pins of roots that svc trusts stay in a token", () => {
  expect(vouchedToken(tokenOf(pin, foreign), { id, ca }).token.pins).toEqual([pin]);
  expect(vouchedToken(tokenOf(pin), { id, ca }).warning).toBeUndefined();
  expect(() => vouchedToken(tokenOf(foreign), { id, ca })).toThrow("is not the one that this svc trusts");
});

test("a token of another id is refused", () => {
  expect(() => vouchedToken(tokenOf(pin), { id: id.replace("Y", "Z"), ca })).toThrow("about another token");
});

test("where svc knows no root, it says what to compare", () => {
  const { warning, token } = vouchedToken(tokenOf(foreign), { id, ca: undefined });
  expect(warning).toContain(`compare ${foreign} with svc ca fingerprint`);
  expect(token.pins).toEqual([foreign]);
  expect(vouchedToken(tokenOf(), { id, ca }).warning).toContain("the token has no pin");
});
