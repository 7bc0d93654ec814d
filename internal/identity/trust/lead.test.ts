import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { buildCrossCertificate, newSerial } from "../ca/build.ts";
import { createAuthority, newAuthority } from "../ca/create.ts";
import { loadInForce } from "../ca/in-force.ts";
import { activateRotation, finishRotation, startRotation } from "../ca/rotate.ts";
import { leadTo } from "./lead.ts";

const day = 24 * 3_600_000;
const [clock, random] = [systemClock, systemRandom];
const files = temporaryDirectory("lead");
const now = clock.now();
/** Roots of one fleet, one after the other, and what leads from each to the next. */
const roots: string[] = [];
let crosses: readonly string[];
let stranger: string;

beforeAll(async () => {
  const dir = join(files.path, "ca");
  await createAuthority({ dir, organization: "Fleet", rootValidityMs: 400 * day, clock, random });
  for (let rotations = 0; ; rotations++) {
    roots.push(readFileSync(join(dir, "root.crt"), "utf8"));
    if (rotations === 2) break;
    await startRotation({ dir, rootValidityMs: 4000 * day, withoutRootKey: false, clock, random });
    await activateRotation(dir);
    await finishRotation(dir);
  }
  ({ crosses } = await loadInForce(dir));
  const other = join(files.path, "other");
  await createAuthority({ dir: other, organization: "Fleet", rootValidityMs: 400 * day, clock, random });
  stranger = readFileSync(join(other, "root.crt"), "utf8");
});
afterAll(() => files[Symbol.dispose]());

const lead = (from: string | undefined, to: string | undefined, crossPem = crosses.join("\n"), at = now) =>
  leadTo(to ?? "", { trusted: [from ?? ""], crossPem, now: at });

test("one rotation and two lead forward, in any order of the certificates, and never back", () => {
  expect(crosses).toHaveLength(2);
  expect(lead(roots[1], roots[2])).toEqual({ kind: "found" });
  expect(lead(roots[0], roots[1])).toEqual({ kind: "found" });
  expect(lead(roots[0], roots[2])).toEqual({ kind: "found" });
  expect(lead(roots[0], roots[2], crosses.toReversed().join("\n"))).toEqual({ kind: "found" });
  for (const [from, to] of [
    [1, 0],
    [2, 1],
    [2, 0],
  ] as const) {
    expect(lead(roots[from], roots[to])).toEqual({ kind: "none" });
  }
});

test("a root of the same name, a step that is missing, and what is not a certificate lead nowhere", () => {
  expect(lead(stranger, roots[2])).toEqual({ kind: "none" });
  expect(lead(roots[0], stranger)).toEqual({ kind: "none" });
  expect(lead(roots[0], roots[2], crosses[0])).toEqual({ kind: "none" });
  expect(lead(roots[0], roots[2], "")).toEqual({ kind: "none" });
  // A root is nobody's next one because it has signed itself.
  expect(lead(roots[0], stranger, stranger)).toEqual({ kind: "none" });
  expect(lead("junk", roots[2])).toEqual({ kind: "none" });
  expect(lead(roots[0], "junk")).toEqual({ kind: "none" });
});

test("what the key of an intermediate signed leads nowhere", async () => {
  const dir = join(files.path, "stolen");
  await createAuthority({ dir, organization: "Fleet", rootValidityMs: 400 * day, clock, random });
  const { authority, root } = await loadInForce(dir);
  const made = await newAuthority({ dir, organization: "Fleet", rootValidityMs: 40 * day, clock, random });
  const forge = (certificate: string) =>
    buildCrossCertificate(
      {
        root: made.authority.rootPem,
        serial: newSerial(random),
        validity: { notBefore: now - day, notAfter: now + day },
      },
      { certificate, key: authority.signingKey },
    );
  for (const named of [authority.intermediatePem, root.pem]) {
    const crossPem = [await forge(named), authority.intermediatePem].join("\n");
    expect(lead(root.pem, made.authority.rootPem, crossPem)).toEqual({ kind: "none" });
  }
});

test("it ends when the first root on the way ends, and says when", () => {
  expect(lead(roots[0], roots[2], crosses.join("\n"), now + 399 * day)).toEqual({ kind: "found" });
  const ended = lead(roots[0], roots[2], crosses.join("\n"), now + 401 * day);
  expect(ended).toEqual({ kind: "ended", at: expect.stringMatching(/^20\d\d-\d\d-\d\dT/) });
  expect(lead(roots[1], roots[2], crosses.join("\n"), now + 401 * day)).toEqual({ kind: "found" });
});

test("however many certificates are sent, the search is bounded", () => {
  const many = Array.from({ length: 5_000 }, () => crosses.join("\n")).join("\n");
  expect(lead(stranger, roots[2], many)).toEqual({ kind: "none" });
  expect(lead(roots[0], roots[2], many)).toEqual({ kind: "found" });
});
