import { expect, test } from "bun:test";
import { memoryFiles } from "../../../test/harness/states.ts";
import { absoluteName, treeOf } from "./tree.ts";

const tree = treeOf(
  memoryFiles({ "a.sls": "", "web/init.sls": "", "web/tls.sls": "", "top.sls": "", "a.txt": "" }),
);

test.each([
  ["a", "a.sls"],
  ["web", "web/init.sls"],
  ["web.tls", "web/tls.sls"],
  ["none", undefined],
  ["", undefined],
  ["..", undefined],
  ["web..tls", undefined],
  ["/etc/passwd", undefined],
  ["web/tls", undefined],
])("%s is %s", (sls, path) => {
  expect(tree.pathOf(sls)).toBe(path);
});

test("names every state file but the top file", () => {
  expect(tree.names()).toEqual(["a", "web", "web.tls"]);
});

test.each([
  ["x.y", "a.b", "a/b.sls", "x.y"],
  ["x/y", "a.b", "a/b.sls", "x.y"],
  [".c", "a.b", "a/b.sls", "a.c"],
  [".c", "a.b", "a/b/init.sls", "a.b.c"],
  ["..c", "a.b", "a/b.sls", "c"],
  ["..c", "a.b", "a/b/init.sls", "a.c"],
  [".c", "a", "a.sls", "c"],
  ["..c", "a", "a.sls", undefined],
])("an include of %s in %s (%s) is %s", (written, sls, path, expected) => {
  expect(absoluteName(written, sls, path)).toBe(expected);
});
