import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { snapshotOf } from "./snapshot.ts";

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest();
const fileOf = (content: string, executable = false) => ({
  digest: sha256(content).toString("hex"),
  size: Buffer.byteLength(content),
  executable,
});

/** MessagePack by hand, in its shortest form. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const { length } = bytes;
  const head =
    length < 32 ? [0xa0 | length] : length < 256 ? [0xd9, length] : [0xda, length >> 8, length & 255];
  return Buffer.concat([Buffer.from(head), bytes]);
}
function whole(value: number): Buffer {
  if (value < 128) return Buffer.of(value);
  if (value < 256) return Buffer.of(0xcc, value);
  if (value < 65_536) return Buffer.of(0xcd, value >> 8, value & 255);
  const bytes = Buffer.alloc(5, 0xce);
  bytes.writeUInt32BE(value, 1);
  return bytes;
}
function list(items: Buffer[]): Buffer {
  const { length } = items;
  const head = length < 16 ? [0x90 | length] : [0xdc, length >> 8, length & 255];
  return Buffer.concat([Buffer.from(head), ...items]);
}
type Row = readonly [path: string, file: ReturnType<typeof fileOf>];
const byHand = (rows: readonly Row[]) =>
  sha256(
    list(
      [...rows]
        .sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
        .map(([path, { digest, size, executable }]) =>
          list([
            text(path),
            Buffer.of(executable ? 0xc3 : 0xc2),
            whole(size),
            Buffer.concat([Buffer.of(0xc4, 32), Buffer.from(digest, "hex")]),
          ]),
        ),
    ),
  ).toString("hex");

test("the snapshot of no files, and of one", () => {
  expect(snapshotOf([])).toBe(sha256(Buffer.of(0x90)).toString("hex"));
  const rows = [["top.sls", fileOf("base: {}\n", true)]] as const;
  expect(snapshotOf(rows)).toBe(byHand(rows));
});

test("it is the SHA-256 of the shortest MessagePack of the sorted rows, whatever the order and the sizes", () => {
  const row = fc.tuple(
    fc.string({ minLength: 1, maxLength: 300, unit: "grapheme" }).filter((path) => path.isWellFormed()),
    fc.record({
      digest: fc.string({ minLength: 64, maxLength: 64, unit: fc.constantFrom(..."0123456789abcdef") }),
      size: fc.oneof(fc.nat(300), fc.nat(70_000), fc.nat(64 * 1024 * 1024)),
      executable: fc.boolean(),
    }),
  );
  const rows = fc.uniqueArray(row, { selector: ([path]) => path, maxLength: 40 });
  fc.assert(
    fc.property(rows, (files) => {
      expect(snapshotOf(files)).toBe(byHand(files));
      expect(snapshotOf(files.toReversed())).toBe(byHand(files));
    }),
  );
});

test("paths are sorted by their bytes, not by UTF-16", () => {
  // U+FF61 comes after U+1F600 in UTF-16, and before it in UTF-8.
  const rows = ["\u{1f600}", "\uff61"].map((path) => [path, fileOf(path)] as const);
  expect(snapshotOf(rows)).toBe(byHand(rows));
  expect(snapshotOf(rows)).toBe(snapshotOf(rows.toReversed()));
});

test("a path, a bit or a byte makes another one", () => {
  const all = [
    [["a", fileOf("1")]],
    [["b", fileOf("1")]],
    [["a", fileOf("1", true)]],
    [["a", fileOf("2")]],
  ] as const;
  expect(new Set(all.map(snapshotOf)).size).toBe(all.length);
});
