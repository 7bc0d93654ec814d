import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { planState, proveHonest, proveIdle } from "../../../../test/harness/honesty.ts";
import { problemsOf } from "../../../../test/harness/planned-state.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import type { Plain } from "../../../base/msgpack.ts";
import readings from "./as-configparser.json";
import { iniStates } from "./ini.ts";
import { formatOf } from "./ini-format.ts";
import { IniText } from "./ini-text.ts";

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

const git = "[user]\n\tname = Ann # the first\n\temail = ann@example.com\n[core] bare = false\n";
const samba =
  "[global]\n   workgroup = WORKGROUP\n   server string = host\n   max log size = 1000\n\n[homes]\n   comment = Home\n";

interface Edit {
  name: string;
  state: string;
  args: Record<string, Plain>;
  before: string;
  after: string;
}

const edits: Edit[] = [
  {
    name: ".gitconfig",
    state: "options_present",
    args: { sections: { user: { name: "Bea" } } },
    before: git,
    after: git.replace("Ann # the first", "Bea"),
  },
  {
    name: "gitconfig",
    state: "options_present",
    args: { sections: { User: { Name: "Ann" }, core: { bare: "false" } } },
    before: git,
    after: git,
  },
  {
    name: ".gitconfig",
    state: "options_present",
    args: { sections: { core: { bare: "true" }, user: { signingkey: "a;b" } } },
    before: git,
    after: git
      .replace("[core] bare = false", "[core]\nbare = true")
      .replace("example.com\n", 'example.com\n\tsigningkey = "a;b"\n'),
  },
  {
    name: ".gitconfig",
    state: "options_absent",
    args: { sections: { 'remote "o"': ["fetch"], core: ["bare"] } },
    before: `${git}[remote "o"]\n\tfetch = a \\\n\tb = c\n\turl = u\n\tfetch = d\n`,
    after: `${git.replace(" bare = false", "")}[remote "o"]\n\turl = u\n`,
  },
  {
    name: ".gitconfig",
    state: "sections_absent",
    args: { sections: ["core"] },
    before: `${git}[a]\nx = 1\n[core]\ny = 1\n`,
    after: `${git.replace("[core] bare = false\n", "")}[a]\nx = 1\n`,
  },
  {
    name: "smb.conf",
    state: "options_absent",
    args: { sections: { global: ["WorkGroup"] } },
    before: samba,
    after: samba.replace("   workgroup = WORKGROUP\n", ""),
  },
  {
    name: "smb.conf",
    state: "options_present",
    args: { sections: { Global: { "max logsize": 9, "log level": 1 }, homes: { comment: "Home" } } },
    before: samba,
    after: samba.replace("max log size = 1000\n", "max logsize = 9\n   log level = 1\n"),
  },
  {
    name: "smb.conf",
    state: "options_present",
    args: { sections: { global: { "server string": "x" } } },
    before: "[global]\nworkgroup = W\n   server string = a \\\n   b = c\n   max log size = 1\n",
    after: "[global]\nworkgroup = W\n   server string = x\n   max log size = 1\n",
  },
  {
    name: "x.service",
    state: "options_present",
    args: { sections: { Service: { ExecStart: "/bin/b" } } },
    before: "[Service]\nExecStart=/bin/a \\\n  -v=1\n  User=u\n",
    after: "[Service]\nExecStart = /bin/b\n  User=u\n",
  },
  {
    name: "any.cnf",
    state: "options_present",
    args: { sections: { a: { y: 3, new: 1 } } },
    before: "[a]\n  x = 1\n  # two\n  y = 2\n[b]\n",
    after: "[a]\n  x = 1\n  # two\n  y = 3\n  new = 1\n[b]\n",
  },
  {
    name: "any.cnf",
    state: "options_present",
    args: { sections: { a: { y: 3 } }, continuation: "backslash" },
    before: "[a]\nx = 1\n  y = 2\n",
    after: "[a]\nx = 1\n  y = 3\n",
  },
  {
    name: "any.cnf",
    state: "options_present",
    args: { sections: { a: { x: 3 } }, continuation: "indent" },
    before: "[a]\nx = 1\n# kept\n  y = 2\n",
    after: "[a]\nx = 3\n# kept\n",
  },
  {
    name: "tox.ini",
    state: "options_present",
    args: { sections: { a: { env: "C=d" } } },
    before: "[a]\nenv =\n  A=b\n  B=c\nx = 1\n",
    after: "[a]\nenv = C=d\nx = 1\n",
  },
  {
    name: "x.ini",
    state: "options_present",
    args: { sections: { s: { k: "new", l: 1 }, t: { m: 2 } } },
    before: "[s]\r\nk = old\r\n",
    after: "[s]\r\nk = new\r\nl = 1\r\n\r\n[t]\r\nm = 2\r\n",
  },
  {
    name: "any.cnf",
    state: "options_absent",
    args: { sections: { a: ["x"] } },
    before: "[a]\nx = 1\n[b]\n[a]\nx = 2\ny = 1\n",
    after: "[a]\n[b]\n[a]\ny = 1\n",
  },
];

describe("options that are indented", () => {
  test.each(edits)("ini.$state $args in $name", async ({ name, state, args, before, after }) => {
    using directory = temporaryDirectory("ini");
    const path = join(directory.path, name);
    writeFileSync(path, before);
    const prove = before === after ? proveIdle : proveHonest;
    await prove(directory.path, iniStates, `ini.${state}`, path, args);
    expect(readFileSync(path, "utf8")).toBe(after);
  });

  test("a line that is a part of a value or an option is not touched, until the state says which", async () => {
    using directory = temporaryDirectory("ini");
    const path = join(directory.path, "my.cnf");
    writeFileSync(path, "[a]\nx = 1\n  y = 2\n  [b]\nz = 3\n");
    for (const [state, sections] of [
      ["options_present", { a: { x: 2 } }],
      ["options_present", { a: { y: 2 } }],
      ["options_absent", { a: ["x"] }],
      ["options_absent", { a: ["y"] }],
      ["sections_present", ["b"]],
      ["sections_absent", ["b"]],
    ] as [string, Plain][]) {
      const plan = planState(iniStates, `ini.${state}`, path, { sections });
      await expect(plan).rejects.toThrow("give continuation: indent or continuation: backslash");
    }
    await proveIdle(directory.path, iniStates, "ini.options_present", path, { sections: { a: { z: 3 } } });
  });

  test("several lines need a backslash where lines end so", async () => {
    using directory = temporaryDirectory("ini");
    const path = join(directory.path, ".gitconfig");
    const value = (text: string) => ({ sections: { alias: { x: text } } });
    await proveHonest(directory.path, iniStates, "ini.options_present", path, value("a \\\nb"));
    expect(readFileSync(path, "utf8")).toBe("[alias]\nx = a \\\n\tb\n");
    const plan = planState(iniStates, "ini.options_present", path, value("a\nb"));
    await expect(plan).rejects.toThrow("x: a value of several lines needs a backslash");
  });

  // What Python 3.11's configparser reads of the edited text.
  test.each(readings)("edit %# is read by Python as meant", (each) => {
    const format = formatOf("x.ini", "indent");
    const ini = new IniText(each.before, { format });
    if (each.value === null) ini.remove(each.section, each.option);
    else ini.set(each.section, each.option, each.value);
    expect(ini.text()).toBe(each.after);
    const sections: Record<string, Record<string, string | null>> = each.read;
    for (const [section, options] of Object.entries(sections)) {
      for (const [option, value] of Object.entries(options)) {
        expect(ini.get(section, option)).toBe(value ?? "");
      }
    }
  });
});
