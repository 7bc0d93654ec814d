import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { svc as run } from "../../../test/harness/svc.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";

/** Runs `svc state` over a tree of files. */
async function svc(files: Record<string, string>, argv: (dir: string) => string[]) {
  using directory = temporaryDirectory("state");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory.path, path)), { recursive: true });
    writeFileSync(join(directory.path, path), text);
  }
  return await run(["state", ...argv(directory.path)], { clock: manualClock(), hostname: "here" });
}

test("a tree that is fine is said to be so", async () => {
  const files = { "s/top.sls": "base:\n  '*': [web]\n", "s/web/init.sls": "a:\n  test.nop: []\n" };
  expect(await svc(files, (dir) => ["lint", join(dir, "s")])).toEqual({
    exit: 0,
    stdout: "1 state file: no problems\n",
    stderr: "",
  });
});

test("lint shows what masters would refuse, with the place, and the rest as hints", async () => {
  const files = {
    "s/top.sls": "base:\n  '*': [web]\n  'G@os:Plan9': [web, db]\n",
    "s/web.sls": "a:\n  test.nop:\n    - colour: red\n    - requires: [test: b]\n",
    "s/db.sls": "{{ pillar.gone }}:\n  test.nap: []\n",
    "s/alone.sls": "b: [\n",
    "s/undefined.sls": "{{ gone }}x:\n  test.nop:\n    - comment: {{ 'yes' }}\n",
  };
  const { exit, stdout, stderr } = await svc(files, (dir) => ["lint", join(dir, "s")]);
  expect(exit).toBe(1);
  expect(stdout.split("\n")).toEqual([
    'db.sls:2:1: unknown state function "test.nap" (did you mean test.nop?)',
    'web.sls:4:1: test.nop: unknown requisite "requires" (did you mean require?)',
    "",
  ]);
  expect(stderr.split("\n")).toEqual([
    "hint: alone.sls:1:4: the bracket [ is not closed",
    "hint: undefined.sls:1:1: gone is not defined",
    'hint: undefined.sls:3:19: yes is a text here, and true in Salt: write true, or "yes" with quotes',
    'hint: web.sls:3:1: test.nop: unknown argument "colour"',
    "4 state files: 2 problems",
    "",
  ]);
});

test("hints alone do not fail", async () => {
  const files = { "s/top.sls": "base:\n  '*': [web]\n", "s/web.sls": "x:\n  boto.present: []\n" };
  const strict = await svc(files, (dir) => ["lint", join(dir, "s")]);
  expect(strict.exit).toBe(1);
  for (const compat of ["salt", "bridge"]) {
    const { exit, stdout, stderr } = await svc(files, (dir) => [
      "lint",
      join(dir, "s"),
      "--salt-compat",
      compat,
    ]);
    expect([exit, stdout]).toEqual([0, "1 state file: no problems, 1 hint\n"]);
    expect(stderr).toBe(
      'hint: web.sls:2:1: unknown state function "boto.present" (did you mean host.present?)\n',
    );
  }
});

test("a missing state file is reported at its position in the top file", async () => {
  const files = { "s/top.sls": "base:\n  '*':\n    - wbe\n", "s/web.sls": "" };
  const { exit, stdout } = await svc(files, (dir) => ["lint", join(dir, "s")]);
  expect([exit, stdout.split("\n")[0]]).toEqual([
    1,
    "top.sls:3:1: state file wbe does not exist (did you mean web?)",
  ]);
});

test("as data the problems and hints keep their fields", async () => {
  const files = {
    "s/top.sls": "base: {'*': [web]}\n",
    "s/web.sls": "a:\n  test.nop:\n    - colour: red\nb:\n  test.nap: []\n",
  };
  const { stdout } = await svc(files, (dir) => ["lint", join(dir, "s"), "--output", "json"]);
  expect(JSON.parse(stdout)).toEqual({
    checked: 1,
    problems: [
      { file: "web.sls", line: 5, column: 1, reason: expect.stringContaining("unknown state function") },
    ],
    hints: [{ file: "web.sls", line: 3, column: 1, reason: 'test.nop: unknown argument "colour"' }],
  });
});

test("with facts or settings, lint compiles every combination of files for that host as well", async () => {
  const files = {
    "s/top.sls": "base:\n  '*': [web]\n  'G@os:Plan9': [web, db]\n",
    "s/web.sls": "a:\n  test.nop:\n    - colour: red\n",
    "s/db.sls": "a:\n  test.nop: []\n",
    "s/alone.sls": "b:\n  test.nop:\n    - require: [test: nothing]\n",
    "s/cycle.sls": "x:\n  test.nop:\n    - require: [test: y]\ny:\n  test.nop:\n    - require: [test: x]\n",
    "s/undefined.sls": "{{ pillar.gone }}\n",
    "p.yaml": "port: 8080\n",
  };
  const { exit, stdout, stderr } = await svc(files, (dir) => [
    ...["lint", join(dir, "s"), "--settings", join(dir, "p.yaml")],
  ]);
  expect(exit).toBe(1);
  for (const place of ["web.sls:3:1: ", "alone.sls:3:1: ", "cycle.sls:2:1: ", "undefined.sls:1:10: "]) {
    expect(stdout).toContain(place);
  }
  expect(stdout).toContain(">     3 |     - colour: red");
  expect(stdout.match(/unknown argument "colour"/g)).toHaveLength(1);
  // Only together do these two have the same id: no file alone is wrong.
  expect(stdout).toMatch(/db\.sls:1:1: |web\.sls:1:1: /);
  expect(stderr).toMatch(/^5 state files: \d problems$/m);
});

test("facts and settings of files are what templates see", async () => {
  const files = {
    "s/top.sls": "base: {}\n",
    "s/web/init.sls": "{{ sls }} on {{ facts.os }} {{ grains.id }}: {{ pillar.port }} {{ tpldir }}\n",
    "f.yaml": "os: Plan9\n",
    "p.yaml": "port: 8080\n",
  };
  const { exit, stdout } = await svc(files, (dir) => [
    "render",
    join(dir, "s/web/init.sls"),
    "--facts",
    join(dir, "f.yaml"),
    "--settings",
    join(dir, "p.yaml"),
  ]);
  expect([exit, stdout]).toEqual([0, "web on Plan9 here: 8080 web\n"]);
});

test("what cannot be rendered fails with the place and the text around it", async () => {
  const files = { "top.sls": "", "web.sls": "a:\n  {{ facts.nothing_such }}\n" };
  const { exit, stderr } = await svc(files, (dir) => ["render", join(dir, "web.sls")]);
  expect(exit).toBe(1);
  expect(stderr).toStartWith("svc: web.sls:2:11: undefined: facts.nothing_such\n");
  expect(stderr).toContain(">     2 |   {{ facts.nothing_such }}\n");
});

test.each([
  [["lint", "/nonexistent"], 1, "cannot read the directory /nonexistent"],
  [["lint"], 2, "<dir> is required"],
  [["render", "/etc/hostname", "--root", "/usr"], 2, "is not in the directory"],
  [["lint", "/tmp", "--facts", "/nonexistent"], 1, "--facts: cannot read /nonexistent"],
])("%p is refused", async (argv, expected, message) => {
  const { exit, stderr } = await svc({}, () => argv);
  expect(stderr).toContain(message);
  expect(exit).toBe(expected);
});
