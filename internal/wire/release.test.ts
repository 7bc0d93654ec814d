import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encode } from "../base/msgpack.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { isSignedRelease, openRelease, type Release, signRelease } from "./release.ts";

const anna = newKeyPair("user", () => new Uint8Array(32).fill(1));
const other = newKeyPair("user", () => new Uint8Array(32).fill(2));
const fleet = newKeyPair("account", () => new Uint8Array(32).fill(3)).publicKey;
const releasedAt = Date.UTC(2026, 10, 28, 22, 5, 6, 7);
const release: Omit<Release, "key"> = {
  ...{ fleet, environment: "base", snapshot: "ab".repeat(32), version: 7, releasedAt, operator: "anna" },
};

/** MessagePack by hand: what another implementation writes for the same release. */
const text = (value: string) => {
  const bytes = Buffer.from(value);
  const head = bytes.length < 32 ? [0xa0 | bytes.length] : [0xd9, bytes.length];
  return Buffer.concat([Buffer.from(head), bytes]);
};
const binary = (value: Uint8Array) => Buffer.concat([Buffer.from([0xc4, value.length]), value]);
const pair = (key: string, value: Buffer) => Buffer.concat([text(key), value]);
const map = (pairs: readonly Buffer[]) => Buffer.concat([Buffer.from([0x80 | pairs.length]), ...pairs]);
const pairs = (tree: readonly Buffer[] = []) => [
  pair("v", Buffer.from([1])),
  pair("fleet", text(fleet)),
  pair("environment", text("base")),
  pair("snapshot", binary(Buffer.alloc(32, 0xab))),
  ...tree,
  pair("version", Buffer.from([7])),
  pair("released_at", text("2026-11-28T22:05:06.007Z")),
  pair("operator", text("anna")),
  pair("key", text(anna.publicKey)),
];

test.each([
  ["without files that masters alone read", {}, []],
  ["with them", { tree: "cd".repeat(32) }, [pair("tree", binary(Buffer.alloc(32, 0xcd)))]],
])("the stored bytes are the map in the order of the page, and its signature, %s", (_, more, tree) => {
  const fields = pairs(tree);
  const message = Buffer.concat([Buffer.from("svc/release/v1\0"), map(fields)]);
  const stored = map([...fields, pair("signature", binary(anna.sign(message)))]);
  expect(Buffer.from(signRelease({ ...release, ...more }, anna)).toString("hex")).toBe(
    stored.toString("hex"),
  );
  const opened = openRelease(stored);
  expect(opened).toMatchObject({ ...release, ...more, key: anna.publicKey });
  expect(isSignedRelease(opened)).toBe(true);
});

test("every release is read as it was written, and is signed", () => {
  const digests = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((one) => Buffer.from(one).toString("hex"));
  const releases = fc.record(
    {
      fleet: fc.constant(fleet),
      environment: fc.constantFrom("base", "feature/web-2", "v1.2.3+x"),
      snapshot: digests,
      tree: digests,
      version: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
      releasedAt: fc.integer({ min: 0, max: 4_000_000_000_000 }),
      operator: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/),
    },
    { requiredKeys: ["fleet", "environment", "snapshot", "version", "releasedAt", "operator"] },
  );
  fc.assert(
    fc.property(releases, (one) => {
      const { signature, ...opened } = openRelease(signRelease(one, anna));
      expect(opened).toEqual({ ...one, key: anna.publicKey });
      expect(isSignedRelease({ ...opened, signature })).toBe(true);
    }),
  );
});

test("no change of a single byte of what is stored is a signed release", () => {
  const bytes = signRelease({ ...release, tree: "cd".repeat(32) }, anna);
  for (let at = 0; at < bytes.length; at++) {
    for (const bit of [1, 0x10, 0x80]) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ bit;
      let accepted = false;
      try {
        accepted = isSignedRelease(openRelease(changed));
      } catch {
        // Malformed.
      }
      expect([at, bit, accepted]).toEqual([at, bit, false]);
    }
  }
});

test("a signature by another key, or for another purpose, does not count", () => {
  const opened = openRelease(signRelease(release, anna));
  expect(isSignedRelease({ ...opened, key: other.publicKey })).toBe(false);
  const wrong = Buffer.concat([Buffer.from("svc/request/v1\0"), map(pairs())]);
  expect(isSignedRelease({ ...opened, signature: anna.sign(wrong) })).toBe(false);
  expect(isSignedRelease({ ...opened, signature: anna.sign(map(pairs())) })).toBe(false);
});

describe("is refused", () => {
  const stored = {
    v: 1,
    fleet,
    environment: "base",
    snapshot: new Uint8Array(32),
    version: 7,
    released_at: "2026-11-28T22:05:06.007Z",
    operator: "anna",
    key: anna.publicKey,
    signature: new Uint8Array(64),
  };
  const { v: form, ...withoutForm } = stored;
  test.each<[string, unknown, string]>([
    ["another form", { ...stored, v: 2 }, "v:"],
    ["an unknown field", { ...stored, force: true }, "malformed"],
    ["another order", { ...withoutForm, v: form }, "not in canonical form"],
    ["the key of a user as fleet", { ...stored, fleet: anna.publicKey }, "fleet"],
    ["the key of an account as signer", { ...stored, key: fleet }, "key"],
    ["no environment", { ...stored, environment: "" }, "environment"],
    ["a snapshot as text", { ...stored, snapshot: "ab".repeat(32) }, "snapshot"],
    ["a short snapshot", { ...stored, snapshot: new Uint8Array(31) }, "snapshot"],
    ["a version of 0", { ...stored, version: 0 }, "version"],
    ["a version beyond the greatest", { ...stored, version: 2 ** 31 }, "version"],
    ["a time in another spelling", { ...stored, released_at: "2026-11-28T22:05:06Z" }, "released_at"],
    ["a name that leads elsewhere", { ...stored, operator: "../anna" }, "operator"],
    ["a short signature", { ...stored, signature: new Uint8Array(63) }, "signature"],
    ["a list", [1], "malformed"],
    ["a text", "release", "malformed"],
    ["more than a release", { ...stored, environment: "x".repeat(5_000) }, "malformed"],
  ])("%s", (_, value, reported) => {
    expect(() => openRelease(encode(value))).toThrow(reported);
    expect(() => openRelease(encode(value))).toThrow(expect.objectContaining({ kind: "unauthorized" }));
  });

  test("a value in a longer form, and something after the release", () => {
    const bytes = Buffer.from(signRelease(release, anna));
    const at = bytes.indexOf(text("version")) + text("version").length;
    const longer = Buffer.concat([bytes.subarray(0, at), Buffer.from([0xcd, 0, 7]), bytes.subarray(at + 1)]);
    expect(() => openRelease(longer)).toThrow("not in canonical form");
    expect(() => openRelease(Buffer.concat([bytes, Buffer.from([0xc0])]))).toThrow("malformed");
  });
});
