import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { readGroups } from "../../tree/targets/mod.ts";
import { readMasterConfig } from "./master-config.ts";
import { readNodeGroups } from "./node-groups.ts";
import { Items } from "./report.ts";

/** The groups that masters can read, and the lines of those that were not copied. */
function read(text: string) {
  using directory = temporaryDirectory("groups");
  const file = join(directory.path, "master");
  writeFileSync(file, text);
  const items = new Items();
  const groups = readNodeGroups(readMasterConfig(file), items);
  readGroups(formatYaml(groups), "nodegroups.yaml");
  return {
    groups,
    left: items.sorted().items.map(({ line, problem, next }) => `${line}: ${problem}; ${next}`),
  };
}

test("lists and texts become targets", () => {
  const text = `nodegroups:
  glob: ['nodes*.example.com']
  minus: ['N@glob', 'not', 'nodes3.example.com']
  spaced: ['G@osfullname:Oracle Linux Server', or, 'G@virtual_subtype:Xen PV DomU']
  text: web* not web-1
  names: web-1 web-2
  block:
    - L@web-1,web-2
    - and
    - N@names
`;
  expect(read(text)).toEqual({
    groups: {
      glob: "nodes*.example.com",
      minus: "N@glob and not nodes3.example.com",
      spaced: '"G@osfullname:Oracle Linux Server" or "G@virtual_subtype:Xen PV DomU"',
      text: "web* and not web-1",
      names: "L@web-1,web-2",
      block: "L@web-1,web-2 and N@names",
    },
    left: [],
  });
});

test("what masters would refuse is reported, and not written", () => {
  const text = `nodegroups:
  bad name: web*
  ünder: web*
  fine: web*
  of bad: ['N@bad name']
  of-bad: ['N@bad', or, db*]
  of-of-bad: [N@of-bad]
  loop: [N@pool]
  pool: [N@loop, or, web*]
  nested: [[web*], or, db*]
  map: {a: 1}
  empty: []
  S: S@10.0.0.0/8
  two: [web*, db*]
`;
  const { groups, left } = read(text);
  expect(groups).toEqual({ fine: "web*" });
  const lines = [
    /^2: not copied: "bad name" is not a name of a group.*, such as bad-name$/,
    /^3: not copied: "ünder" is not a name of a group/,
    /^5: not copied: "of bad" is not a name of a group/,
    /^6: not copied: it refers to the group "bad", which is not copied;/,
    /^7: not copied: it refers to the group "of-bad", which is not copied, or refers back to it;/,
    /^8: not copied: it refers to the group "pool", which is not copied, or refers back/,
    /^9: not copied: it refers to the group "loop", which is not copied, or refers back/,
    /^10: not copied: expected a text, or a list of texts/,
    /^11: not copied: expected a text, or a list of texts/,
    /^12: not copied: it is empty/,
    /^13: not copied: S: column 1: S@ is not a matcher/,
    /^14: not copied: Salt finds no minion by it: an operator is missing before db/,
  ];
  expect(left).toEqual(lines.map((each) => expect.stringMatching(each)));
});
