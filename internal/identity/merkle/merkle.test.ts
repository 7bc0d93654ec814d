import { expect, test } from "bun:test";
import fc from "fast-check";
import { sha256 } from "../../base/sha256.ts";
import { isProven, merkleTree, type ProofStep, packProof, partialTree, unpackProof } from "./merkle.ts";

const leaf = (id: string) => sha256(Buffer.concat([Buffer.of(0), Buffer.from(id)]));
const node = (left: Uint8Array, right: Uint8Array) => sha256(Buffer.concat([Buffer.of(1), left, right]));
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const id = fc.stringMatching(/^[a-z0-9_-]{1,12}$/);
const ids = fc.uniqueArray(id, { minLength: 1, maxLength: 70 });

test("the trees of one to five ids, by hand: an odd one moves up unchanged", () => {
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(leaf) as [Buffer, Buffer, Buffer, Buffer, Buffer];
  const wanted = [
    a,
    node(a, b),
    node(node(a, b), c),
    node(node(a, b), node(c, d)),
    node(node(node(a, b), node(c, d)), e),
  ];
  for (const [at, root] of wanted.entries()) {
    expect(hex(merkleTree(["e", "d", "c", "b", "a"].slice(4 - at)).root)).toBe(hex(root));
  }
  expect(merkleTree(["a", "b", "c"]).proofOf("c")).toEqual([{ side: "l", hash: node(a, b) }]);
  expect(merkleTree(["a", "b", "c"]).proofOf("a")).toEqual([
    { side: "r", hash: b },
    { side: "r", hash: c },
  ]);
  expect(merkleTree(["a"]).proofOf("a")).toEqual([]);
});

test("the root of a known tree never changes", () => {
  expect(hex(merkleTree(["web-1_example_com", "web-2_example_com", "db-1"]).root)).toBe(
    "a9336e770dcf502680fa817c5f9929aec074b354730750bb5d72cf4cb97a33b6",
  );
});

test("the order and the number of times of the ids do not matter", () => {
  fc.assert(
    fc.property(ids, fc.array(fc.nat()), (names, picks) => {
      const again = picks.map((pick) => names[pick % names.length] ?? "");
      const root = hex(merkleTree(names).root);
      expect(hex(merkleTree([...again, ...names.toReversed()]).root)).toBe(root);
    }),
  );
});

test("each id is proven, and no other one, by no other proof", () => {
  fc.assert(
    fc.property(ids, id, fc.nat(), (names, stranger, pick) => {
      const tree = merkleTree(names);
      for (const name of names) expect(isProven(name, tree.proofOf(name) ?? [], tree.root)).toBe(true);
      const chosen = names[pick % names.length] ?? "";
      const proof = tree.proofOf(chosen) ?? [];
      if (!names.includes(stranger)) {
        expect(tree.proofOf(stranger)).toBeUndefined();
        expect(isProven(stranger, proof, tree.root)).toBe(false);
      }
      for (const other of names) expect(isProven(other, proof, tree.root)).toBe(other === chosen);
      // A part of a proof, one with a side swapped, and one with a bit changed prove nothing.
      if (proof.length > 0) {
        expect(isProven(chosen, proof.slice(1), tree.root)).toBe(false);
        expect(isProven(chosen, proof.slice(0, -1), tree.root)).toBe(false);
        const at = pick % proof.length;
        const { side, hash } = proof[at] ?? { side: "l", hash: new Uint8Array() };
        expect(isProven(chosen, proof.with(at, { side: side === "l" ? "r" : "l", hash }), tree.root)).toBe(
          false,
        );
        const changed = Uint8Array.from(hash);
        changed[0] = (changed[0] ?? 0) ^ 1;
        expect(isProven(chosen, proof.with(at, { side, hash: changed }), tree.root)).toBe(false);
      }
    }),
  );
});

test("a node does not pass for a leaf, and odd lengths are refused", () => {
  const tree = merkleTree(["a", "b"]);
  const inner = Buffer.concat([leaf("a"), leaf("b")]).toString("latin1");
  expect(isProven(inner, [], tree.root)).toBe(false);
  expect(isProven("a", [{ side: "r", hash: new Uint8Array(31) }], tree.root)).toBe(false);
  expect(isProven("a", [], new Uint8Array(31))).toBe(false);
  expect(isProven("a", Array(49).fill({ side: "r", hash: new Uint8Array(32) }), tree.root)).toBe(false);
  expect(() => merkleTree([])).toThrow("a tree needs an id");
});

test("a packed proof opens to the same steps, and nothing else opens", () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const step: fc.Arbitrary<ProofStep> = fc.record({ side: fc.constantFrom("l", "r"), hash });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), fc.integer({ min: 2, max: 255 }), (proof, side) => {
      const packed = packProof(proof);
      const opened = unpackProof(packed, 20) ?? [];
      const shown = (steps: readonly ProofStep[]) => steps.map(({ side, hash }) => [side, hex(hash)]);
      expect(shown(opened)).toEqual(shown(proof));
      expect(packProof(opened)).toEqual(packed);
      if (proof.length === 0) return;
      expect(unpackProof(packed, proof.length - 1)).toBeUndefined();
      expect(unpackProof(packed.subarray(1), 20)).toBeUndefined();
      expect(unpackProof(Uint8Array.from(packed).fill(side, 0, 1), 20)).toBeUndefined();
    }),
  );
});

test("a part of a tree proves its ids as the whole tree does, and no others", () => {
  fc.assert(
    fc.property(ids, fc.array(fc.boolean(), { minLength: 70, maxLength: 70 }), (names, picked) => {
      const tree = merkleTree(names);
      const some = names.filter((_, at) => picked[at]);
      const part = tree.partOf(some.toReversed());
      const found = partialTree(part, some);
      for (const name of names) {
        expect(found.proofOf(name)).toEqual(some.includes(name) ? tree.proofOf(name) : undefined);
      }
      expect(part.size).toBe(names.length);
    }),
  );
  expect(merkleTree(["a", "b"]).partOf(["a", "b"]).beside).toEqual([]);
  expect(() => merkleTree(["a"]).partOf(["b"])).toThrow("an id outside the tree");
});

test("a part that was changed proves nothing, and breaks nothing", () => {
  const tree = merkleTree(["a", "b", "c", "d", "e"]);
  const part = tree.partOf(["b", "e"]);
  const proves = (changed: Partial<typeof part>, of = ["b", "e"]) =>
    isProven("b", partialTree({ ...part, ...changed }, of).proofOf("b") ?? [], tree.root);
  expect(proves({})).toBe(true);
  for (const changed of [{ size: 3 }, { places: [0, 4] }, { places: [1] }, { beside: [] }]) {
    expect(proves(changed)).toBe(false);
  }
  expect(proves({}, ["b"])).toBe(false);
});
