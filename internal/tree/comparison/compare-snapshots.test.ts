import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { contentsOf } from "../../../test/harness/contents.ts";
import { encodeManifest } from "../files/mod.ts";
import { compareSnapshots, comparisonBudget } from "./compare-snapshots.ts";

/** A store with some snapshots. */
async function storeOf(...snapshots: Record<string, string | Uint8Array>[]) {
  const blobs = new Map<string, Uint8Array>();
  const reads: string[] = [];
  const manifests: string[] = [];
  for (const files of snapshots) {
    const contents = contentsOf(files);
    const sorted = [...contents].sort(([one], [other]) => (one < other ? -1 : 1));
    const manifest = encodeManifest({
      environment: "base",
      origin: { directory: true, commits: [] },
      files: sorted.map(([path, { pieces: _, ...file }]) => ({ path, ...file })),
    });
    for (const [digest, data] of manifest.blobs) blobs.set(digest, data);
    for (const [, { digest, pieces }] of sorted) {
      for await (const piece of pieces()) blobs.set(digest, piece);
    }
    manifests.push(manifest.digest);
  }
  const get = async (digest: string) => {
    reads.push(digest);
    return blobs.get(digest);
  };
  return { get, blobs, reads, manifests };
}

const clock = manualClock();
const compare = async (
  { get, manifests: [before, after = ""] }: Awaited<ReturnType<typeof storeOf>>,
  budget = comparisonBudget(clock),
) => compareSnapshots({ get }, { before, after, withText: true }, budget);

test("new, changed and removed files are named, with the lines that differ", async () => {
  const store = await storeOf(
    { "a.sls": "one\ntwo\n", "gone.sls": "x", "same.sls": "same", "tool.bin": new Uint8Array([0, 1]) },
    { "a.sls": "one\n2\n", "new.sls": "a\n", "same.sls": "same", "tool.bin": new Uint8Array([0, 2]) },
  );
  const { diff = "", ...found } = await compare(store);
  expect(found).toEqual({
    ...{ added: 1, changed: 2, removed: 1, left_out: 0 },
    files: [
      { change: "~", path: "a.sls" },
      { change: "-", path: "gone.sls" },
      { change: "+", path: "new.sls" },
      { change: "~", path: "tool.bin" },
    ],
  });
  expect(diff).toContain("-two\n+2\n");
  expect(diff).toContain("gone.sls: removed, it had 1 bytes\n");
  expect(diff).toContain("+++ new.sls\n@@ -0,0 +1 @@\n+a\n");
  expect(diff).toContain("tool.bin: not shown line by line: 2 bytes before, 2 bytes after\n");
  expect(diff).not.toContain("same");
});

test("a program that only becomes executable is a change", async () => {
  const store = await storeOf({ run: "id" }, { "run.sh": "id" });
  expect((await compare(store)).diff).toContain("run.sh: executable\n--- /dev/null\n+++ run.sh");
});

test("what both have is not read, and equal files have no difference", async () => {
  const store = await storeOf({ a: "1" }, { a: "1" });
  expect(await compare(store)).toEqual({
    ...{ added: 0, changed: 0, removed: 0, files: [], left_out: 0, diff: "" },
  });
  expect(new Set(store.reads)).toEqual(new Set(store.manifests));
});

test("without files before, all are new", async () => {
  const { get, manifests } = await storeOf({ a: "1", b: "2" });
  const of = { before: undefined, after: manifests[0] ?? "", withText: false };
  expect(await compareSnapshots({ get }, of, comparisonBudget(clock))).toMatchObject({ added: 2 });
});

test("an answer has a limit, and says what was left out", async () => {
  const many = (text: string) =>
    Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`${"d".repeat(100)}/${at}.sls`, text]));
  const store = await storeOf(many("one"), many(`${"two\n".repeat(50)}`));
  const { changed, files, left_out, diff = "" } = await compare(store);
  expect(changed).toBe(3_000);
  expect(files.length + left_out).toBe(3_000);
  expect(left_out).toBeGreaterThan(2_000);
  expect(Buffer.byteLength(diff)).toBeLessThan(257 * 1024);
  expect(diff).toMatch(/\[the differences of \d+ more files are left out, the first is d+\/\d+\.sls\]\n$/);
});

test("when the time is over, no more files are compared", async () => {
  const budget = comparisonBudget(clock);
  clock.advance(3_000);
  expect((await compare(await storeOf({ a: "1" }, { a: "2" }), budget)).diff).toBe(
    "[the differences of 1 more file are left out, the first is a]\n",
  );
});

test("files that are no longer stored are said to be so", async () => {
  const store = await storeOf({ a: "1" }, { a: "2" });
  store.blobs.delete(store.manifests[0] ?? "");
  await expect(compare(store)).rejects.toMatchObject({ kind: "not_found" });
});
