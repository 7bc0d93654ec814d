import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { planState, proveHonest, proveIdle } from "../../../../test/harness/honesty.ts";
import { problemsOf } from "../../../../test/harness/planned-state.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { iniStates } from "./ini.ts";

const text = "; top\nloose = 1\n\n[main]\n# kept\ndns=default\nlist = a\n  b\n\n[more]\nx = 1\n";

interface Case {
  state: string;
  args: Record<string, Plain>;
  after: string;
}

const cases: Case[] = [
  { state: "options_present", args: { sections: { main: { dns: "default" } } }, after: text },
  {
    state: "options_present",
    args: { sections: { main: { dns: "none", new: 3 }, loose: 2 } },
    after: text
      .replace("loose = 1", "loose = 2")
      .replace("dns=default", "dns = none")
      .replace("  b\n", "  b\nnew = 3\n"),
  },
  {
    state: "options_present",
    args: { sections: { main: { list: "c" } }, no_spaces: true },
    after: text.replace("list = a\n  b", "list=c"),
  },
  { state: "options_present", args: { sections: { main: { list: "a\nb" } } }, after: text },
  {
    state: "options_present",
    args: { sections: { other: { y: true, flag: null } } },
    after: `${text}\n[other]\ny = True\nflag\n`,
  },
  {
    state: "options_present",
    args: { sections: { main: { dns: "default" } }, strict: true },
    after: text.replace("list = a\n  b\n", ""),
  },
  {
    state: "options_absent",
    args: { sections: { main: ["dns", "no"], more: ["x"] } },
    after: text.replace("dns=default\n", "").replace("x = 1\n", ""),
  },
  { state: "options_absent", args: { sections: { loose: null } }, after: text.replace("loose = 1\n", "") },
  { state: "sections_present", args: { sections: ["main", "new"] }, after: `${text}\n[new]\n` },
  { state: "sections_present", args: { sections: { main: null } }, after: text },
  {
    state: "sections_absent",
    args: { sections: ["more", "no"] },
    after: text.replace("[more]\nx = 1\n", ""),
  },
];

describe("files with sections", () => {
  test.each(cases)("ini.$state $args", async ({ state, args, after }) => {
    using directory = temporaryDirectory("ini");
    const path = join(directory.path, "x.ini");
    writeFileSync(path, text);
    const call = [directory.path, iniStates, `ini.${state}`, path, args] as const;
    if (after === text) await proveIdle(...call);
    else await proveHonest(...call);
    expect(readFileSync(path, "utf8")).toBe(after);
  });

  test("a missing file is created, and one without a last line break keeps that", async () => {
    using directory = temporaryDirectory("ini");
    const path = join(directory.path, "x.ini");
    const args = { sections: { a: { b: "c" } } };
    await proveHonest(directory.path, iniStates, "ini.options_present", path, args);
    expect(readFileSync(path, "utf8")).toBe("[a]\nb = c\n");
    writeFileSync(path, "[a]\nb=c");
    await proveIdle(directory.path, iniStates, "ini.options_present", path, args);
    const plan = await planState(iniStates, "ini.options_absent", join(directory.path, "no"), {
      sections: { a: ["b"] },
    });
    expect(plan.apply).toBeUndefined();
  });

  test.each<[string, Record<string, Plain>, string]>([
    ["options_present", { sections: { a: { b: ["c"] } } }, "a: b: expected one value"],
    ["options_present", { sections: { "a]": { b: 1 } } }, "is not a valid name of a section"],
    ["options_present", { sections: { a: { "[b": 1 } } }, "is not a valid name of an option"],
    ["options_present", { sections: { a: { b: "c\n\nd" } } }, "must not contain an empty line"],
    ["sections_present", { sections: 3 }, "expected a list of names"],
  ])("ini.%s %j is refused", async (state, args, expected) => {
    expect(await problemsOf(`ini.${state}`, args)).toContain(expected);
  });
});
