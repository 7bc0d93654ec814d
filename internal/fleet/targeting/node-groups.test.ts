import { describe, expect, test } from "bun:test";
import { mkdirSync, rmdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { resolveAtOnce } from "../../../test/harness/targets.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { expandGroups, readGroups } from "../../tree/targets/groups.ts";
import { parseTarget } from "../../tree/targets/parse.ts";
import { followNodeGroups } from "./node-groups.ts";

const read = (text: string) => readGroups(text, "g.yaml");
const members = ["db-1", "web-1", "web-2"];
const fleet = {
  members: () => members,
  peels: () => members.map((id) => ({ id, facts: undefined })),
  hasSettings: false,
  alive: () => true,
};
const found = (text: string, yaml: string) =>
  resolveAtOnce(expandGroups(parseTarget(text), read(yaml)), fleet);

test("groups stand for their whole expressions, and may refer to each other in any order", () => {
  const yaml = "all: N@web or N@db\nweb: web-* and not web-2\ndb: db-*\nnobody: not N@all and not *\n";
  expect(found("N@all", yaml)).toEqual(["db-1", "web-1"]);
  expect(found("not N@all", yaml)).toEqual(["web-2"]);
  expect(found("N@web or web-2", yaml)).toEqual(["web-1", "web-2"]);
  expect(found("N@nobody", yaml)).toEqual([]);
  expect(read("")).toEqual(new Map());
  expect(read("# nothing yet\n")).toEqual(new Map());
});

test("an unknown group is rejected with a suggestion", () => {
  expect(() => found("db-* or N@wbe", "web: web-*")).toThrow(
    expect.objectContaining({
      kind: "bad_request",
      message: "target: column 9: unknown node group wbe (did you mean web?)",
    }),
  );
  expect(() => found("N@web", "")).toThrow("target: column 1: unknown node group web");
});

describe("a file is rejected with its place:", () => {
  test.each([
    ["- web", "g.yaml:1:1: expected a map of group names to target expressions"],
    [
      "web: web-*\n'a b': x1",
      "g.yaml:2:1: invalid group name: use at most 64 letters, digits, dots, hyphens and underscores",
    ],
    ["web:\n  - web-*", "g.yaml:2:3: group web: expected a target expression"],
    ["web: web-* and", 'g.yaml:1:6: group web: column 10: expected a matcher after "and", found the end'],
    ["a1: N@b1\nb1: N@c1 or x1\nc1: not N@b1", "g.yaml:3:5: group c1: refers to itself: b1 -> c1 -> b1"],
    ["a1: N@a1", "g.yaml:1:5: group a1: refers to itself: a1 -> a1"],
    ["web: web-*\nall: N@wbe", "g.yaml:2:6: group all: column 1: unknown node group wbe (did you mean web?)"],
    ["web: a1\nweb: b1", 'g.yaml:2:1: the key "web" appears twice'],
  ])("%j", (yaml, reason) => {
    expect(() => read(yaml)).toThrow(expect.objectContaining({ kind: "bad_request", message: reason }));
  });

  test("exponential expansion", () => {
    const lines = Array.from({ length: 30 }, (_, i) => `g${i + 1}: N@g${i} or N@g${i}`);
    expect(() => read(`g0: x1\n${lines.join("\n")}`)).toThrow(
      "group g11: more than 1024 matchers after expanding node groups",
    );
  });
});

test("the file is read again after a change, and an invalid one keeps the previous groups", () => {
  using files = temporaryDirectory("groups");
  const path = join(files.path, "nodegroups.yaml");
  const log = recordingLog();
  let seconds = 1_000;
  const write = (text: string) => {
    writeFileSync(path, text);
    utimesSync(path, ++seconds, seconds);
  };
  const groups = followNodeGroups(path, log);
  const names = () => [...groups.current().keys()].join(" ");
  expect(names()).toBe("");
  write("web: web-*\n");
  expect(names()).toBe("web");
  write("dbs: dbs-*\n");
  expect(names()).toBe("dbs");
  expect(log.records.map(({ level }) => level)).toEqual(["info", "info"]);

  write("dbs: (\n");
  expect(names()).toBe("dbs");
  expect(names()).toBe("dbs");
  expect(log.records.slice(2)).toEqual([
    {
      level: "error",
      event: "node groups cannot be read",
      fields: {
        file: path,
        reason: `${path}:1:6: group dbs: column 2: expected a matcher after "(", found the end`,
        kept: 1,
      },
    },
  ]);
  write("all: '*'\n");
  expect(names()).toBe("all");
  rmSync(path);
  expect(names()).toBe("");
});

test("groups that were never readable are an error, until they are readable", () => {
  using files = temporaryDirectory("groups");
  const path = join(files.path, "nodegroups.yaml");
  mkdirSync(path);
  const groups = followNodeGroups(path, recordingLog());
  expect(() => groups.current()).toThrow(
    expect.objectContaining({
      kind: "unavailable",
      message: "node groups cannot be read: is a directory",
    }),
  );
  rmdirSync(path);
  writeFileSync(path, "web: web-*\n");
  expect(groups.current().has("web")).toBe(true);
});
