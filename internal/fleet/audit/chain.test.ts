import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { encode } from "../../base/msgpack.ts";
import { keyPairFromSeed, newKeyPair } from "../../identity/nkey.ts";
import { readHead, signHead } from "../../wire/audit-head.ts";
import { createChainCheck, type StoredEntry } from "./chain.ts";
import { beginning, type Content, type Link, readEntry, writeEntry } from "./entry.ts";

const fixed = (size: number) => Uint8Array.from({ length: size }, (_, index) => index);
const key = newKeyPair("user", fixed);
const stranger = newKeyPair("user", (size) => new Uint8Array(size).fill(7));

const content: Content = {
  at: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  master: "master-1",
  operator: "ann",
  key: key.publicKey,
  via: "bus",
  action: "enrollments.approve",
  subjects: { enrollment: "enr-1" },
  outcome: "begun",
  requestId: "r-1",
  requestDigest: new Uint8Array(32).fill(1),
};

function chainOf(count: number, signer = key): StoredEntry[] {
  let at: Link = beginning();
  return Array.from({ length: count }, (_, index) => {
    const { bytes, link } = writeEntry({ ...content, requestId: `r-${index}` }, at, signer);
    at = link;
    return { sequence: link.seq, bytes };
  });
}

function check(stored: readonly StoredEntry[], first?: number, keys = [key.publicKey]) {
  const checking = createChainCheck(keys, first);
  for (const one of stored) checking.take(one);
  return checking;
}

test("an entry is stored as this: the fields of the page in their order, and a signature over the rest", () => {
  const { bytes, link } = writeEntry({ ...content, outcome: "failed", reason: "gone" }, beginning(), key);
  const unsigned = encode({
    seq: 1,
    previous: new Uint8Array(32),
    at: "2026-01-02T03:04:05.006Z",
    master: "master-1",
    operator: "ann",
    key: key.publicKey,
    via: "bus",
    action: "enrollments.approve",
    subjects: { enrollment: "enr-1" },
    outcome: "failed",
    reason: "gone",
    request_id: "r-1",
    request_digest: new Uint8Array(32).fill(1),
    key_of_master: key.publicKey,
  });
  // One field more: the map of 14 is one of 15, whose header has the same length.
  const signature = key.sign(Buffer.concat([Buffer.from("svc/audit/v1\0"), unsigned]));
  const fields = Buffer.from(unsigned).subarray(1);
  const name = Buffer.from("a97369676e6174757265c440", "hex");
  expect(Buffer.from(unsigned)[0]).toBe(0x8e);
  expect(Buffer.from(bytes).toString("hex")).toBe(
    Buffer.concat([Buffer.from([0x8f]), fields, name, signature]).toString("hex"),
  );
  expect(link).toEqual({ seq: 1, hash: createHash("sha256").update(bytes).digest() });
  expect(createHash("sha256").update(bytes).digest("hex")).toMatchInlineSnapshot(
    `"473364250aeeeb62d8c672c5321fe0794ce472831e7b4e5d0686798a6f1bb640"`,
  );
  expect(readEntry(bytes)).toEqual({
    ...content,
    ...{ outcome: "failed", reason: "gone", seq: 1, previous: new Uint8Array(32) },
    ...{ keyOfMaster: key.publicKey, signature: expect.anything() },
  });
});

test("a whole chain has no problems, whichever of the fleet's keys signed", () => {
  expect(check(chainOf(20), 1)).toMatchObject({ count: 20, found: 0, last: { seq: 20 } });
  const chain = chainOf(3);
  const third = readEntry(chain[1]?.bytes ?? new Uint8Array());
  const rotated = writeEntry(
    content,
    {
      seq: 2,
      hash: createHash("sha256")
        .update(chain[1]?.bytes ?? "")
        .digest(),
    },
    stranger,
  );
  expect(third.seq).toBe(2);
  const mixed = [...chain.slice(0, 2), { sequence: 3, bytes: rotated.bytes }];
  expect(check(mixed, 1, [key.publicKey, stranger.publicKey]).found).toBe(0);
  expect(check(mixed, 1).problems).toEqual([
    { seq: 3, problem: `signed with ${stranger.publicKey}, which no master of this fleet has` },
  ]);
  // The oldest may have expired.
  expect(check(chainOf(20).slice(5)).found).toBe(0);
});

test("without a command key, no one can change, remove, move or insert anything unseen", () => {
  const chain = chainOf(12);
  const renumbered = (entries: readonly StoredEntry[]) =>
    entries.map(({ bytes }, index) => ({ sequence: index + 1, bytes }));
  const index = fc.nat(chain.length - 1);
  fc.assert(
    fc.property(index, fc.nat(100_000), fc.integer({ min: 1, max: 255 }), (which, place, bits) => {
      const changed = chain.map(({ sequence, bytes }, at) => {
        const copy = Uint8Array.from(bytes);
        if (at === which) copy[place % copy.length] = (copy[place % copy.length] ?? 0) ^ bits;
        return { sequence, bytes: copy };
      });
      expect(check(changed, 1).found).toBeGreaterThan(0);
    }),
  );
  fc.assert(
    fc.property(index, fc.boolean(), (which, renumbers) => {
      const removed = chain.filter((_, at) => at !== which);
      const shown = renumbers ? renumbered(removed) : removed;
      // Without the last one it is a whole chain: the peels know that there was more.
      if (which === chain.length - 1) expect(check(shown, 1).last?.seq).toBe(chain.length - 1);
      else expect(check(shown, 1).found).toBeGreaterThan(0);
    }),
  );
  fc.assert(
    fc.property(index, index, fc.boolean(), (one, other, renumbers) => {
      fc.pre(one !== other);
      const [first, second] = [chain[one], chain[other]];
      if (first === undefined || second === undefined) throw new Error("no entry");
      const swapped = chain.map((entry, at) => (at === one ? second : at === other ? first : entry));
      const shown = renumbers
        ? renumbered(swapped)
        : swapped.map(({ bytes }, at) => ({ sequence: at + 1, bytes }));
      expect(check(shown, 1).found).toBeGreaterThan(0);
    }),
  );
  fc.assert(
    fc.property(index, index, (where, which) => {
      const again = chain[which];
      if (again === undefined) throw new Error("no entry");
      expect(check(renumbered(chain.toSpliced(where, 0, again)), 1).found).toBeGreaterThan(0);
    }),
  );
  fc.assert(
    fc.property(index, fc.uint8Array({ maxLength: 300 }), (where, bytes) => {
      expect(check(renumbered(chain.toSpliced(where, 0, { sequence: 0, bytes })), 1).found).toBeGreaterThan(
        0,
      );
    }),
  );
});

test("only the spelling of masters is an entry", () => {
  const [entry] = chainOf(1);
  const bytes = Buffer.from(entry?.bytes ?? []);
  // The same sequence, in a longer form.
  const at = bytes.indexOf("seq") + 3;
  const longer = Buffer.concat([bytes.subarray(0, at), Buffer.from([0xcc, 1]), bytes.subarray(at + 1)]);
  expect(() => readEntry(longer)).toThrow("as masters write it");
  for (const wrong of [
    encode({}),
    encode([1]),
    encode({ seq: 1 }),
    Buffer.from("c1", "hex"),
    new Uint8Array(),
  ]) {
    expect(() => readEntry(wrong)).toThrow();
  }
});

test("what stands behind a foreign message continues it, and only that message is a problem", () => {
  const chain = chainOf(2);
  const junk = Buffer.from("junk");
  const hash = createHash("sha256").update(junk).digest();
  const after = writeEntry(content, { seq: 3, hash }, key);
  const all = [...chain, { sequence: 3, bytes: junk }, { sequence: 4, bytes: after.bytes }];
  expect(check(all, 1).problems).toEqual([{ seq: 3, problem: "it is not an entry that a master wrote" }]);
});

test("a head counts only with the signature of a known key", () => {
  const head = { seq: 5, hash: new Uint8Array(32).fill(3), at: content.at };
  const bytes = signHead(head, key);
  expect(readHead(bytes, [stranger.publicKey, key.publicKey])).toEqual(head);
  expect(() => readHead(bytes, [stranger.publicKey])).toThrow("no signature of a known command key");
  for (let place = 0; place < bytes.length; place++) {
    const changed = Uint8Array.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    expect(() => readHead(changed, [key.publicKey])).toThrow();
  }
  expect(keyPairFromSeed("user", key.seed).publicKey).toBe(key.publicKey);
});
