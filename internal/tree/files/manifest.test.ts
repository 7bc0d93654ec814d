import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encode } from "../../base/msgpack.ts";
import { isEnvironmentName } from "../../base/names/names.ts";
import { sha256Hex } from "../../base/sha256.ts";
import {
  assembleManifest,
  decodePage,
  decodeRoot,
  encodeManifest,
  type ManifestFile,
  maxBlobBytes,
  pathProblem,
} from "./manifest.ts";

const origin = {
  directory: true,
  commits: [{ remote: "https://git.test/x", ref: "refs/heads/main", commit: "a".repeat(40) }],
};
const file = (path: string, seed = path): ManifestFile => ({
  path,
  digest: sha256Hex(Buffer.from(seed)),
  size: 7,
  executable: path.length % 2 === 0,
});
const sorted = (files: ManifestFile[]) => files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
const encodeFiles = (files: ManifestFile[]) => encodeManifest({ environment: "base", origin, files });
const read = ({ digest, blobs }: ReturnType<typeof encodeFiles>) => {
  const at = (name: string) => blobs.get(name) ?? new Uint8Array();
  const root = decodeRoot(at(digest));
  return assembleManifest(
    root,
    root.pages.map((page) => decodePage(at(page))),
  );
};

test("an encoded manifest is read back, large files with their blobs", () => {
  const large: ManifestFile = {
    ...file("z/large"),
    size: 2 * maxBlobBytes + 1,
    blobs: ["1", "2", "3"].map((seed) => sha256Hex(Buffer.from(seed))),
  };
  const files = [...sorted(Array.from({ length: 3_000 }, (_, i) => file(`d${i % 7}/f${i}.sls`))), large];
  const encoded = encodeFiles(files);
  expect(read(encoded)).toEqual({ environment: "base", origin, files });
  for (const [digest, data] of encoded.blobs) {
    expect(sha256Hex(data)).toBe(digest);
    expect(data.length).toBeLessThanOrEqual(maxBlobBytes);
  }
});

test("the same files give the same digest, and another file, mode or commit gives another", () => {
  const files = sorted([file("a"), file("b")]);
  const digest = encodeFiles(files).digest;
  expect(encodeFiles(structuredClone(files)).digest).toBe(digest);
  for (const other of [
    { environment: "dev", origin, files },
    { environment: "base", origin: { ...origin, directory: false }, files },
    { environment: "base", origin, files: [file("a"), file("b", "x")] },
    { environment: "base", origin, files: [file("a"), { ...file("b"), executable: true }] },
  ]) {
    expect(encodeManifest(other).digest).not.toBe(digest);
  }
});

test("changing, adding or removing one file changes few pages", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}\/[a-z0-9]{1,8}$/), { minLength: 300, maxLength: 1_500 }),
      fc.nat(),
      (paths, pick) => {
        const files = sorted(paths.map((path) => file(path)));
        const before = new Set(encodeFiles(files).root.pages);
        const at = pick % files.length;
        const changed = files.with(at, file(files[at]?.path ?? "", "changed"));
        const gone = files.toSpliced(at, 1);
        for (const [next, max] of [
          [changed, 1],
          [gone, 1],
        ] as const) {
          const pages = encodeFiles(next).root.pages;
          expect(pages.filter((page) => !before.has(page)).length).toBeLessThanOrEqual(max);
        }
      },
    ),
    { numRuns: 30 },
  );
});

describe("an untrusted page", () => {
  const row = (path: unknown, more: unknown[] = [Buffer.alloc(32), 1, false]) => [path, ...more];
  test.each([
    ["a path with ..", [row("a/../../etc/passwd")]],
    ["an absolute path", [row("/etc/passwd")]],
    ["an empty path", [row("")]],
    ["a path with an empty part", [row("a//b")]],
    ["a dot", [row("a/./b")]],
    ["a line end", [row("a\nb")]],
    ["a path that is too long", [row("a/".repeat(600))]],
    ["a path that is a number", [row(7)]],
    ["a short digest", [row("a", [Buffer.alloc(31), 1, false])]],
    ["a digest as text", [row("a", ["0".repeat(64), 1, false])]],
    ["a negative size", [row("a", [Buffer.alloc(32), -1, false])]],
    ["a huge size", [row("a", [Buffer.alloc(32), 1e15, false])]],
    ["a long file without blobs", [row("a", [Buffer.alloc(32), maxBlobBytes + 1, false])]],
    [
      "a long file with too few blobs",
      [row("a", [Buffer.alloc(32), maxBlobBytes + 1, false, [Buffer.alloc(32)]])],
    ],
    ["no rows", "x"],
    ["an invalid row", [7]],
  ])("is refused with %s", (_, files) => {
    expect(() => decodePage(encode({ v: 1, files }))).toThrow("malformed snapshot");
  });

  test("is rejected when it is not a page, or has a later version", () => {
    for (const bytes of [
      encode(7),
      encode([]),
      encode({ v: 2, files: [] }),
      Buffer.from([0xc1]),
      Buffer.of(),
    ]) {
      expect(() => decodePage(bytes)).toThrow();
      expect(() => decodeRoot(bytes)).toThrow();
    }
  });

  test("arbitrary bytes are either read or rejected", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const read of [decodePage, decodeRoot]) {
          try {
            read(bytes);
          } catch (thrown) {
            expect(thrown).toHaveProperty("kind", "bad_request");
          }
        }
      }),
    );
  });
});

test("pages with duplicate or unsorted paths are rejected", () => {
  const root = { environment: "base", origin, pages: [] };
  for (const pages of [[[file("b")], [file("a")]], [[file("a")], [file("a")]], [[file("b"), file("a")]]]) {
    expect(() => assembleManifest(root, pages)).toThrow("not sorted");
  }
});

test("paths and names of environments", () => {
  for (const path of ["a", "a/b c/d.sls", "ä/ß", "a\\b", ".hidden", "..a", `${"x".repeat(255)}/y`]) {
    expect(pathProblem(path)).toBeUndefined();
  }
  for (const path of [
    "",
    "/",
    "a/",
    "/a",
    ".",
    "..",
    "a/..",
    "\u0000",
    "a\u007f",
    "\ud800",
    "\ufffd",
    "x".repeat(256),
  ]) {
    expect(pathProblem(path)).toBeDefined();
  }
  for (const name of ["base", "feature/web-2", "v1.2.3+x", "7"]) expect(isEnvironmentName(name)).toBe(true);
  for (const name of ["", "a b", "../x", "a/../b", "-x", "/a", "a/", "a\nb", "ä", "x".repeat(201)]) {
    expect(isEnvironmentName(name)).toBe(false);
  }
});
