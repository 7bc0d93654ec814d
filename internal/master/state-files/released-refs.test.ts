import { expect, test } from "bun:test";
import { contentsOf } from "../../../test/harness/contents.ts";
import { type Contents, overlay, snapshotOf } from "../../tree/files/mod.ts";
import type { Layer } from "../../tree/publication/mod.ts";
import { createReleasedRefs } from "./released-refs.ts";

const [one, two] = ["https://git.test/one", "https://git.test/two"];
const layer = (files: Contents | undefined, remote?: string): Layer => ({
  ...(remote === undefined ? {} : { remote }),
  environments: new Map(files === undefined ? [] : [["base", { files }]]),
  confirmed: true,
});
const releaseOf = (files: Contents, version = 1) => ({ version, snapshot: snapshotOf(files) });

test("the files of a ref are laid among those of the other sources, in their order", () => {
  const [directory, first, second] = [{ a: "d" }, { a: "1", b: "1" }, { b: "2", c: "2" }].map(contentsOf);
  if (directory === undefined || first === undefined || second === undefined) throw new Error("no files");
  const newest = () => releaseOf(overlay([directory, first, second]));
  const layers = [layer(directory), layer(contentsOf({ b: "old" }), one), layer(second, two)];
  const released = createReleasedRefs({ newest }, () => layers);
  expect(released(one, "base")?.has(first)).toBe(true);
  // Controls: other files, the place of another source, and files without the other sources.
  expect(released(one, "base")?.has(contentsOf({ a: "1", b: "2" }))).toBe(false);
  expect(released(two, "base")?.has(first)).toBe(false);
  expect(createReleasedRefs({ newest }, () => [layer(undefined, one)])(one, "base")?.has(first)).toBe(false);
});

test("it is the same object until the release or another source changes", () => {
  const files = contentsOf({ a: "1" });
  let layers = [layer(undefined), layer(files, one)];
  let release = releaseOf(files);
  const released = createReleasedRefs({ newest: () => release }, () => layers);
  const before = released(one, "base");
  expect(before?.version).toBe(1);
  layers = [layer(undefined), layer(contentsOf({ a: "2" }), one)];
  expect(released(one, "base")).toBe(before as never);
  layers = [layer(contentsOf({ b: "1" })), layer(files, one)];
  const beside = released(one, "base");
  expect(beside).not.toBe(before as never);
  expect(beside?.has(files)).toBe(false);
  release = releaseOf(contentsOf({ a: "1", b: "1" }), 2);
  expect(released(one, "base")).toMatchObject({ version: 2 });
  expect(released(one, "base")?.has(files)).toBe(true);
  expect(createReleasedRefs({ newest: () => undefined }, () => layers)(one, "base")).toBeUndefined();
});
