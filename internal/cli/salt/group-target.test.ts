import { expect, test } from "bun:test";
import { parseTarget } from "../../tree/targets/mod.ts";
import { groupTarget } from "./group-target.ts";

// What Salt 3007.1 makes of the words: nodegroup_comp of salt.utils.minions, and salt.matchers.compound_match.
test.each<[words: string[], target: string]>([
  [["nodes*.example.com"], "nodes*.example.com"],
  [["N@glob", "not", "nodes3.example.com"], "N@glob and not nodes3.example.com"],
  [
    ["G@osfullname:Oracle Linux Server", "or", "G@virtual_subtype:Xen PV DomU"],
    '"G@osfullname:Oracle Linux Server" or "G@virtual_subtype:Xen PV DomU"',
  ],
  [["web-1", "web-2"], "L@web-1,web-2"],
  [["web-1"], "L@web-1"],
  [["web-[12]"], "E@web-[12]"],
  [["E@web-(1|2)"], '"E@web-(1|2)"'],
  [["not", "web*"], "not web*"],
  [["web*", "and", "(", "G@os:Debian", "or", "N@a", ")"], "web* and ( G@os:Debian or N@a )"],
  [["(", "web*", ")", "not", "(", "db*", ")"], "( web* ) and not ( db* )"],
  [["web*", "and", "not", "web-1"], "web* and not web-1"],
  [["G@motd:it's"], '"G@motd:it\'s"'],
  [['G@motd:say "x"'], "'G@motd:say \"x\"'"],
])("%j is %s", (words, target) => {
  expect(groupTarget(words)).toEqual({ target });
  parseTarget(target);
});

test.each<[words: string[], problem: string]>([
  [[], "it is empty"],
  [["web*", "db*"], "an operator is missing before db*"],
  [["G@os:Debian", "G@role:x"], "an operator is missing before G@role:x"],
  [["web*", "(", "db*", ")"], "an operator is missing before ("],
  [["web-[12]", "db-1"], "joins these names to one regular expression"],
  [["web* and db*"], "its and does not join anything"],
  [["G@a:'x' \"y\""], "quotes of both kinds"],
])("%j has no target", (words, problem) => {
  expect(groupTarget(words)).toEqual({ problem: expect.stringContaining(problem) });
});
