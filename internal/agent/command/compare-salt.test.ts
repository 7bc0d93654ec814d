import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInProcess } from "../../../test/harness/svc.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import type { Plain } from "../../base/msgpack.ts";
import { runTree } from "../../program/command-line/run-tree.ts";
import { peelCommands } from "./call.ts";
import { compareLow } from "./compare-low.ts";

// The stand-in prints what salt-call 3008.5 printed for these files.

const web = `
/srv/motd:
  file.managed:
    - contents: {{ pillar.port }}
    - mode: 644
    - makedirs: true
a:
  test.nop:
    - require:
      - file: /srv/motd
    - names: [x, y]
c:
  test.configurable_test_state:
    - changes: false
    - unless: 'true'
    - order: 1
`;
const common = { __sls__: "web", __env__: "base" };
const require = [{ file: "/srv/motd" }];
const recorded = [
  {
    ...{ state: "test", name: "c", ...common, __id__: "c", changes: false, unless: "true", order: 1 },
    fun: "configurable_test_state",
  },
  {
    ...{ state: "file", name: "/srv/motd", ...common, __id__: "/srv/motd", contents: 80, mode: 644 },
    ...{ makedirs: true, order: 10000, fun: "managed" },
  },
  { state: "test", name: "x", ...common, __id__: "a", require, order: 10001.0001, fun: "nop" },
  { state: "test", name: "y", ...common, __id__: "a", require, order: 10001.0002, fun: "nop" },
];

let directory: ReturnType<typeof temporaryDirectory>;
const at = (...path: string[]) => join(directory.path, ...path);

beforeAll(() => {
  directory = temporaryDirectory("compare-salt");
  for (const name of ["states", "settings", "data", "bin"]) mkdirSync(at(name));
  writeFileSync(at("states/top.sls"), "base:\n  'web-*': [web]\n");
  writeFileSync(at("states/web.sls"), web);
  writeFileSync(at("settings/top.sls"), "base:\n  '*': [common]\n");
  writeFileSync(at("settings/common.sls"), "port: 80\n");
  const program = `#!/bin/sh\nprintf '%s\\n' "$@" > ${at("argv")}\nenv > ${at("env")}\ncat ${at("answer")}\n`;
  writeFileSync(at("bin/salt-call"), program, { mode: 0o755 });
});
afterAll(() => directory[Symbol.dispose]());

const compare = (answer: unknown, ...argv: string[]) => {
  writeFileSync(at("answer"), typeof answer === "string" ? answer : JSON.stringify({ local: answer }));
  const where = ["--states", at("states"), "--settings", at("settings"), "--id", "web-1.example.com"];
  return runInProcess(
    (options) => runTree(peelCommands, options),
    ["call", "--local", "--compare-salt", ...where, ...argv],
    {
      env: { SVC_DATA_DIR: at("data"), PATH: `${at("bin")}:/usr/bin:/bin`, SECRET: "not for programs" },
    },
  );
};

describe("a comparison", () => {
  test("finds that Salt runs the same", async () => {
    expect(await compare(recorded)).toEqual({
      exit: 0,
      stdout: "4 states: Salt and svc run the same, in the same order\n",
      stderr: "",
    });
    expect(readFileSync(at("argv"), "utf8").split("\n")).toEqual([
      ...["--local", "--out=json", "--log-level=quiet", `--file-root=${at("states")}`],
      ...[`--pillar-root=${at("settings")}`, "--id=web-1.example.com", "state.show_lowstate", ""],
    ]);
    expect(readFileSync(at("env"), "utf8")).not.toContain("SECRET");
  });

  test("of named states asks for these", async () => {
    expect((await compare(recorded, "state.apply", "web")).exit).toBe(0);
    expect(readFileSync(at("argv"), "utf8")).toEndWith("state.show_low_sls\nweb\n");
  });

  test("shows what differs, and fails", async () => {
    const [c, motd, x, y] = recorded;
    const { exit, stdout } = await compare([{ ...motd, mode: "600" }, c, { ...x, name: "z" }, y]);
    expect(exit).toBe(1);
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["FUNCTION", "NAME", "DIFFERENCE"],
      ["test.nop", "z (a)", "only Salt runs it"],
      ["test.nop", "x (a)", "only svc runs it"],
      ["file.managed", "/srv/motd", "Salt runs it as number 1", "here it is test.configurable_test_state c"],
      ["file.managed", "/srv/motd", 'mode: "600" in Salt', '"644" here'],
      ["In both: 3; 4 differences"],
      [""],
    ]);
    const { stdout: data } = await compare([...recorded, recorded[3]], "--output", "json");
    expect(JSON.parse(data)).toEqual({
      states: 4,
      only_salt: [{ function: "test.nop", id: "a", name: "y" }],
      only_here: [],
      arguments: [],
      same: false,
    });
  });

  test.each([
    [["Rendering SLS 'base:web' failed: Jinja variable 'x' is undefined"], "Jinja variable 'x' is undefined"],
    ["[ERROR   ] no\n", "[ERROR   ] no"],
    ['{"local": {}}', '{"local": {}}'],
  ])("shows why Salt cannot compile: %p", async (answer, message) => {
    const { exit, stderr } = await compare(answer);
    expect([exit, stderr]).toEqual([1, expect.stringContaining("Salt does not compile the states:")]);
    expect(stderr).toContain(message);
  });
});

test.each([
  [["--compare-salt"], 2, "--compare-salt requires --local"],
  [["--local", "--compare-salt", "test.ping"], 2, "--compare-salt is for state.highstate"],
  [["--local", "--compare-salt", "state.apply", "test=true"], 2, "--compare-salt is for state.highstate"],
  [["--local"], 2, "<function> is required"],
])("%p is a mistake on the command line", async (argv, code, message) => {
  const ran = await runInProcess((options) => runTree(peelCommands, options), ["call", ...argv], {
    env: { SVC_DATA_DIR: at("data"), PATH: "/usr/bin:/bin" },
  });
  expect([ran.exit, ran.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test("without Salt the comparison says what is missing", async () => {
  const ran = await runInProcess(
    (options) => runTree(peelCommands, options),
    [
      "call",
      "--local",
      "--compare-salt",
      "--states",
      at("states"),
      "--settings",
      at("settings"),
      "--id",
      "web-1",
    ],
    { env: { SVC_DATA_DIR: at("data"), PATH: at("data") } },
  );
  expect([ran.exit, ran.stderr]).toEqual([
    1,
    expect.stringContaining("salt-call is not installed on this host"),
  ]);
});

test.each([
  ["a mode", { mode: "0644" }, { mode: "644" }],
  ["a list of maps with one key", { env: [{ A: "1" }, { B: 2 }] }, { env: { B: "2", A: "1" } }],
  ["the line end of a block", { contents: "a\n" }, { contents: "a" }],
  ["nothing and null", { user: null }, {}],
  ["a word and a boolean", { makedirs: true }, { makedirs: "true" }],
  ["a variable of the template", { port: 80 }, { context: { port: 80 } }],
  ["a variable and a context", { port: 80, context: { a: 1 } }, { context: { a: 1, port: 80 } }],
])("%s is the same in Salt and here", (_, salt, args) => {
  const state = { state: "file", fun: "managed", name: "/a", __id__: "/a", __sls__: "a", order: 1 };
  const own = { function: "file.managed", id: "/a", name: "/a", args };
  expect(compareLow([{ ...state, ...salt }], [own], []).same).toBe(true);
});

test.each<[string, Record<string, Plain>, Record<string, Plain>, string[]]>([
  ["another value of a variable", { port: 80 }, { context: { port: 81 } }, ["port"]],
  ["a variable that Salt does not have", {}, { context: { port: 80 } }, ["context"]],
  ["another context", { port: 80, context: { a: 1 } }, { context: { a: 2, port: 80 } }, ["context"]],
])("%s differs", (_, salt, args, names) => {
  const state = { state: "file", fun: "managed", name: "/a", __id__: "/a", __sls__: "a", order: 1 };
  const own = { function: "file.managed", id: "/a", name: "/a", args };
  const found = compareLow([{ ...state, ...salt }], [own], []).arguments;
  expect(found.map(({ argument }) => argument)).toEqual(names);
});
