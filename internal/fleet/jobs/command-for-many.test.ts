import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { rfc3339 } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { isProven, merkleTree, packProof } from "../../identity/merkle/merkle.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { type CommandKind, openCommand, signForAll } from "../../wire/command.ts";

// Commands that are signed once for many peels.

const key = newKeyPair("user", systemRandom);
const other = newKeyPair("user", systemRandom);
const order = {
  ...{ kind: "dispatch" as CommandKind, jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3", deadline: 10_000 },
  body: encode({ function: "test.ping", args: {} }),
};
const { kind, jid } = order;
const peels = ["db-1", "web-1", "web-2", "web-3", "web-4"];
const tree = merkleTree(peels);
const trust = { keys: [key.publicKey], now: 9_999 };
const commandFor = signForAll(order, tree, key);
const open = (bytes: Uint8Array, peel: string, how: Partial<typeof trust> = {}) =>
  openCommand(bytes, { peel, on: { kind, jid } }, { ...trust, ...how });
const altered = (bytes: Uint8Array, change: Record<string, unknown>) =>
  encode({ ...(decode(bytes) as object), ...change });
const refusedAs = (reason: string) => expect.objectContaining({ kind: "forbidden", reason });
const refusal = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (thrown) {
    return thrown;
  }
};

test("each peel opens its own command, and no other one", () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z0-9_-]{1,12}$/), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(names, fc.constantFrom<CommandKind>("dispatch", "stop"), (peels, kind) => {
      const tree = merkleTree(peels);
      const commandFor = signForAll({ ...order, kind }, tree, key);
      for (const [at, peel] of peels.entries()) {
        const { proof, ...opened } = openCommand(commandFor(peel), { peel, on: { kind, jid } }, trust);
        expect(opened).toEqual({ ...order, kind, peel });
        expect(isProven(peel, proof, tree.root)).toBe(true);
        const next = peels[(at + 1) % peels.length] ?? "";
        if (next === peel) continue;
        const open = (bytes: Uint8Array) => openCommand(bytes, { peel: next, on: { kind, jid } }, trust);
        expect(refusal(() => open(commandFor(peel)))).toEqual(refusedAs("misdirected"));
        const renamed = altered(commandFor(peel), { peel: next });
        expect(refusal(() => open(renamed))).toEqual(refusedAs("bad_signature"));
      }
    }),
    { numRuns: 20 },
  );
});

test("one signature is made, whatever the number of peels", () => {
  let made = 0;
  const sign = (message: Uint8Array) => {
    made++;
    return key.sign(message);
  };
  const commandFor = signForAll(order, tree, { ...key, sign });
  for (const peel of peels) open(commandFor(peel), peel);
  expect(made).toBe(1);
});

test("what is signed are these bytes", () => {
  const { signature } = decode(commandFor("web-1")) as { signature: Uint8Array };
  const head = `svc/command/v1\0dispatch\0${jid}\0${rfc3339(10_000)}\0`;
  const bytes = Buffer.concat([Buffer.from(head), tree.root, sha256(order.body)]);
  expect(Buffer.from(signature)).toEqual(Buffer.from(key.sign(bytes)));
});

test("nothing is made for a peel outside the tree", () => {
  expect(() => commandFor("mail-1")).toThrow("not signed for");
});

describe("refused", () => {
  const mine = commandFor("web-1");
  const packed = packProof(tree.proofOf("web-1") ?? []);
  const cases: [what: string, reason: string, bytes: Uint8Array, how?: Partial<typeof trust>][] = [
    ["a deadline that has passed", "expired", mine, { now: 10_000 }],
    ["an unknown key", "unknown_key", signForAll(order, tree, other)("web-1")],
    [
      "a claimed key that did not sign",
      "bad_signature",
      altered(mine, { key: other.publicKey }),
      { keys: [other.publicKey] },
    ],
    ["a changed body", "bad_signature", altered(mine, { body: encode({ function: "cmd.run", args: {} }) })],
    ["a later deadline", "bad_signature", altered(mine, { deadline: "2030-01-01T00:00:00.000Z" })],
    ["another job", "bad_signature", altered(mine, { jid: "job-x" })],
    ["another kind", "bad_signature", altered(mine, { kind: "stop" })],
    [
      "the proof of another peel",
      "bad_signature",
      altered(mine, { proof: packProof(tree.proofOf("web-2") ?? []) }),
    ],
    ["an empty proof in a tree of many", "bad_signature", altered(mine, { proof: new Uint8Array() })],
    ["a proof without its first step", "bad_signature", altered(mine, { proof: packed.subarray(33) })],
    ["a proof without its last step", "bad_signature", altered(mine, { proof: packed.subarray(0, -33) })],
    [
      "a proof with one step more",
      "bad_signature",
      altered(mine, { proof: Buffer.concat([packed, packed.subarray(0, 33)]) }),
    ],
    ["a proof that was left out", "malformed", altered(mine, { proof: undefined })],
    ["half a step", "malformed", altered(mine, { proof: packed.subarray(1) })],
    [
      "a side that does not exist",
      "malformed",
      altered(mine, { proof: Uint8Array.from(packed).fill(2, 0, 1) }),
    ],
    ["a proof of 33 steps", "malformed", altered(mine, { proof: new Uint8Array(33 * 33) })],
    [
      "a proof of 32 steps that leads elsewhere",
      "bad_signature",
      altered(mine, { proof: new Uint8Array(32 * 33) }),
    ],
    ["a proof as a list", "malformed", altered(mine, { proof: tree.proofOf("web-1") })],
    ["a proof as text", "malformed", altered(mine, { proof: "" })],
  ];
  for (const [what, reason, bytes, how] of cases) {
    test(what, () => expect(refusal(() => open(bytes, "web-1", how))).toEqual(refusedAs(reason)));
  }

  test("an inner node that pretends to be a peel", () => {
    const [left, right] = [merkleTree(["db-1", "web-1"]).root, merkleTree(["web-2", "web-3"]).root];
    for (const children of [
      Buffer.concat([left, right]),
      Buffer.concat([Buffer.of(1), left, right]),
      Buffer.from(tree.root),
    ]) {
      const peel = children.toString("latin1");
      for (const proof of [new Uint8Array(), packed]) {
        expect(refusal(() => open(altered(mine, { peel, proof }), peel))).toEqual(refusedAs("bad_signature"));
      }
    }
  });

  test("any bit that was changed", () => {
    fc.assert(
      fc.property(fc.constantFrom(...peels), fc.nat(), (peel, at) => {
        const bytes = Uint8Array.from(commandFor(peel));
        const bit = at % (8 * bytes.length);
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(refusal(() => open(bytes, peel))).toMatchObject({ kind: "forbidden" });
      }),
      { numRuns: 2_000 },
    );
  });

  test("any bit of what is proven or signed", () => {
    const fields = ["proof", "signature", "body"] as const;
    fc.assert(
      fc.property(fc.constantFrom(...peels), fc.constantFrom(...fields), fc.nat(), (peel, field, at) => {
        const decoded = decode(commandFor(peel)) as Record<(typeof fields)[number], Uint8Array>;
        const bytes = Uint8Array.from(decoded[field]);
        const bit = at % (8 * bytes.length);
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const thrown = refusal(() => open(encode({ ...decoded, [field]: bytes }), peel));
        expect(["bad_signature", "malformed"]).toContain((thrown as { reason: string }).reason);
      }),
      { numRuns: 1_000 },
    );
  });
});
