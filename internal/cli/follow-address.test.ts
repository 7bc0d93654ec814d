import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryDirectory } from "../../test/harness/temporary.ts";
import { systemClock } from "../base/clock.ts";
import { systemRandom } from "../base/id.ts";
import { createAuthority } from "../identity/ca/create.ts";
import { type AuthorityInForce, loadInForce } from "../identity/ca/in-force.ts";
import { activateRotation, finishRotation, startRotation } from "../identity/ca/rotate.ts";
import { followAddress } from "./follow-address.ts";

const [clock, random] = [systemClock, systemRandom];
const rootValidityMs = 1000 * 24 * 3_600_000;
const files = temporaryDirectory("follow-address");
let [before, during, after]: AuthorityInForce[] = [];
let thief: AuthorityInForce;

beforeAll(async () => {
  const dir = join(files.path, "fleet");
  const rotation = { rootValidityMs, withoutRootKey: false, clock, random };
  await createAuthority({ dir, organization: "Fleet", rootValidityMs, clock, random });
  before = await loadInForce(dir);
  await startRotation({ dir, ...rotation });
  await activateRotation(dir);
  during = await loadInForce(dir);
  await finishRotation(dir);
  after = await loadInForce(dir);
  const other = join(files.path, "thief");
  await createAuthority({ dir: other, organization: "Fleet", rootValidityMs, clock, random });
  thief = await loadInForce(other);
});
afterAll(() => files[Symbol.dispose]());

const urls = ["tls://bus:4222"];
const own = () => ({ busUrls: urls, caPem: before?.root.pem ?? "" });
const follow = (
  reported: { ca_pem?: string; bus_urls?: string[]; ca_cross_pem?: string },
  file = own(),
  now = clock.now(),
) => followAddress(file, { bus_urls: urls, ca_pem: own().caPem, ...reported }, now);
const rootsIn = (pem = "") => pem.match(/BEGIN/g)?.length ?? 0;

test("what is the same changes nothing", () => {
  expect(follow({})).toBeUndefined();
  expect(follow({ ca_pem: `${own().caPem}\n\n` })).toBeUndefined();
});

test("addresses follow where the roots of the file verify them", () => {
  const bus_urls = ["tls://one:4222", "tls://two:4222"];
  expect(follow({ bus_urls })).toEqual({ caPem: own().caPem, busUrls: bus_urls });
});

test("the next root is added while it is rotated, and the one before is dropped afterwards", () => {
  const both = own().caPem + (during?.rotation?.next.pem ?? "");
  const added = follow({ ca_pem: both, ca_cross_pem: during?.authority.crossPem ?? "" });
  expect(rootsIn(added?.caPem)).toBe(2);
  const next = after?.root.pem ?? "";
  const dropped = follow({ ca_pem: next }, { busUrls: urls, caPem: added?.caPem ?? "" });
  expect(dropped?.caPem.trim()).toBe(next.trim());
});

test("a file that missed the rotation follows what its root signed", () => {
  const crosses = after?.crosses.join("\n") ?? "";
  expect(follow({ ca_pem: after?.root.pem ?? "", ca_cross_pem: crosses })?.caPem.trim()).toBe(
    after?.root.pem.trim(),
  );
});

describe("a bus server that someone else controls", () => {
  const away = ["tls://thief:4222"];
  const cases: [what: string, reported: () => Parameters<typeof follow>[0], roots: number | undefined][] = [
    ["names another root", () => ({ ca_pem: thief.root.pem, bus_urls: away }), undefined],
    [
      "names it with certificates of the fleet",
      () => ({
        ca_pem: thief.root.pem,
        ca_cross_pem: after?.crosses.join("\n") ?? "",
        bus_urls: away,
      }),
      undefined,
    ],
    [
      "names the next root without what leads to it",
      () => ({ ca_pem: after?.root.pem ?? "", bus_urls: away }),
      undefined,
    ],
    ["names nothing", () => ({ ca_pem: "", bus_urls: away }), undefined],
    [
      "adds its root to the right one",
      () => ({ ca_pem: own().caPem + thief.root.pem, ca_cross_pem: thief.crosses.join("\n") }),
      undefined,
    ],
  ];
  test.each(cases)("%s", (_, reported, roots) => {
    const found = follow(reported());
    expect(found === undefined ? undefined : rootsIn(found.caPem)).toBe(roots as undefined);
  });

  test.each([
    [[]],
    [["nats://bus:4222"]],
    [["tls://bus:4222", "http://x"]],
    [["x"]],
    [Array(65).fill("tls://b")],
  ])("cannot make an operator connect in the clear, or nowhere: %#", (bus_urls) => {
    expect(follow({ bus_urls })).toBeUndefined();
  });

  test("cannot name anything where the trust store of the host verifies the bus", () => {
    const file = { busUrls: urls, caPem: "" };
    expect(follow({ ca_pem: thief.root.pem, bus_urls: away }, file)).toBeUndefined();
  });
});

test("a root that has ended leads nowhere", () => {
  const crosses = after?.crosses.join("\n") ?? "";
  const late = clock.now() + 2 * rootValidityMs;
  expect(follow({ ca_pem: after?.root.pem ?? "", ca_cross_pem: crosses }, own(), late)).toBeUndefined();
});
