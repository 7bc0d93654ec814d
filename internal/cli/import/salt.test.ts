import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { svc as run } from "../../../test/harness/svc.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { encode } from "../../base/msgpack.ts";
import { importSalt } from "../salt/import-salt.ts";
import type { Report } from "../salt/report.ts";
import { withoutGpg } from "../salt/without-gpg.ts";

const master = `
file_roots:
  base: [/srv/salt, /srv/formulas]
  dev: [/srv/dev]
pillar_roots:
  base:
    - /srv/pillar
nodegroups:
  web: 'web-* and G@os:Debian'
  named: [web-1.example.com, db-1.example.com]
  front: [N@web, or, db-*]
  broken: 'S@10.0.0.0/8'
log_level: debug
external_auth: {pam: {ann: ['.*']}}
`;

const files: Record<string, string> = {
  "etc/salt/master": master,
  "etc/salt/master.d/a.conf":
    "reactor:\n  - 'deploy/*': [/srv/reactor/deploy.sls, salt://reactor/templated.sls]\n  - 'salt/beacon/*/load/': [/srv/reactor/deploy.sls]\n",
  "etc/salt/master.d/b.conf":
    "gitfs_remotes:\n  - https://git.example.com/states.git\n  - git://old.example.com/x.git\nschedule:\n  nightly: {function: runner.x, hours: 1}\n",
  "etc/salt/pki/master/minions/web-1.example.com": "key",
  "etc/salt/pki/master/minions/db-1.example.com": "key",
  "etc/salt/pki/master/minions_pre/new-1.example.com": "key",
  "srv/salt/top.sls": "base:\n  'web-*': [web]\n  'db-*': [db]\ndev:\n  '*': [x]\n",
  "srv/salt/web.sls":
    "/etc/motd:\n  file.managed:\n    - contents: {{ pillar.port }} {{ grains.color }}\nzone:\n  zabbix_host.present: []\n",
  "srv/salt/db.sls": "{{ pillar.gone }}\n",
  "srv/salt/_grains/role.py": "def role(): pass\n",
  "srv/salt/reactor/templated.sls": "{% if data %}\nx:\n  local.test.ping:\n    - tgt: '*'\n{% endif %}\n",
  "srv/formulas/web.sls": "second: {}\n",
  "srv/formulas/tool.sh": "#!/bin/sh\n",
  "srv/dev/x.sls": "a:\n  test.nop: []\n",
  "srv/reactor/deploy.sls":
    "apply:\n  local.state.apply:\n    - tgt: {{ data['id'] }}\n    - arg: [web]\nping:\n  local.cmd.run:\n    - tgt: 'web-*'\n    - arg: ['echo {{ data['data']['x'] }}']\naccept:\n  wheel.key.accept:\n    - match: a\n",
  "srv/pillar/top.sls": "base:\n  '*': [common]\n  'db-*': [secret]\n",
  "srv/pillar/common.sls":
    "port: 80\nschedule:\n  disk:\n    function: status.diskusage\n    minutes: 10\n    splay: 30\n  odd:\n    function: test.ping\n    when: 5pm\n",
  "srv/pillar/secret.sls":
    "#!yaml|gpg\ndb:\n  password: |\n    -----BEGIN PGP MESSAGE-----\n    hQ==\n    -----END PGP MESSAGE-----\n",
};

let directory: ReturnType<typeof temporaryDirectory>;
const at = (...path: string[]) => join(directory.path, ...path);
const read = (path: string) => readFileSync(at(path), "utf8");
let report: Report;

const importTo = (out: string, ...more: string[]) =>
  run(
    [
      "import",
      "salt",
      "--master-config",
      at("host/etc/salt/master"),
      "--root",
      at("host"),
      "--dir",
      at(out),
      ...more,
    ],
    { clock: manualClock(), hostname: "here" },
  );

beforeAll(async () => {
  directory = temporaryDirectory("import-salt");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(at("host", path)), { recursive: true });
    writeFileSync(at("host", path), text, { mode: path.endsWith(".sh") ? 0o755 : 0o644 });
  }
  writeFileSync(at("outside"), "not for anyone\n");
  symlinkSync(at("outside"), at("host/srv/salt/link"));
  symlinkSync("web.sls", at("host/srv/salt/inside.sls"));
  const cached = { grains: { id: "web-1.example.com", os: "Debian", color: "blue" }, pillar: {} };
  mkdirSync(at("host/var/cache/salt/master/minions/web-1.example.com"), { recursive: true });
  writeFileSync(at("host/var/cache/salt/master/minions/web-1.example.com/data.p"), encode(cached));
  const { exit, stdout, stderr } = await importTo("out", "--output", "json");
  expect([exit, stderr]).toEqual([0, ""]);
  report = JSON.parse(stdout);
});
afterAll(() => directory[Symbol.dispose]());

const problemsAt = (file: string, line?: number) =>
  report.needs_hand
    .filter((item) => item.file === file && (line === undefined || item.line === line))
    .map(({ problem }) => problem);

describe("what is written", () => {
  test("states of the first root that has them, with their modes, and other environments apart", () => {
    expect(read("out/states/web.sls")).toBe(files["srv/salt/web.sls"] ?? "");
    expect(read("out/states/inside.sls")).toBe(files["srv/salt/web.sls"] ?? "");
    expect(statSync(at("out/states/tool.sh")).mode & 0o777).toBe(0o755);
    expect(read("out/environments/dev/states/x.sls")).toBe(files["srv/dev/x.sls"] ?? "");
    expect(problemsAt("environments/dev/states")).toEqual(["the environment dev is not base"]);
  });

  test("settings and the directory itself are for their owner only", () => {
    expect(statSync(at("out")).mode & 0o777).toBe(0o700);
    expect(statSync(at("out/settings/secret.sls")).mode & 0o777).toBe(0o600);
  });

  test("node groups whose targets exist here", () => {
    expect(read("out/settings/nodegroups.yaml")).toBe(
      "web: web-* and G@os:Debian\nnamed: L@web-1.example.com,db-1.example.com\nfront: N@web or db-*\n",
    );
    expect(problemsAt(at("host/etc/salt/master"), 12)[0]).toStartWith("not copied: broken: column 1: ");
  });

  test("rules for reactions without a template that decides", () => {
    expect(readdirSync(at("out/reactor"))).toEqual(["salt-1-apply.yaml"]);
    expect(read("out/reactor/salt-1-apply.yaml")).toBe(
      "rules:\n  - name: salt-1-apply\n    match: deploy/**\n    do:\n      - states:\n          target: $" +
        "{source}\n          sls:\n            - web\n",
    );
    expect(problemsAt(at("host/srv/reactor/deploy.sls"), 5)[0]).toContain(
      "placeholders are not allowed here: a shell runs the text",
    );
    expect(problemsAt(at("host/srv/reactor/deploy.sls"), 9)).toEqual([
      "accept is not converted: wheel.key.accept does not run on minions",
    ]);
    expect(problemsAt("states/reactor/templated.sls", 1)).toEqual(["a template decides what is done"]);
    expect(problemsAt(at("host/etc/salt/master.d/a.conf"), 3)).toEqual([
      "svc has no event like salt/beacon/*/load/",
    ]);
  });

  test("schedules of minions", () => {
    expect(read("out/schedules/1.yaml")).toBe(
      "# For peel.yaml of the peels whose settings come from settings/common.sls.\nschedule:\n  disk:\n    module: status.diskusage\n    args: {}\n    interval: 10m\n    splay: 30s\n    run_on_start: true\n    return_job: true\n",
    );
    expect(problemsAt("settings/common.sls", 7)).toEqual(["odd is not converted: when does not exist here"]);
  });

  test("the names of accepted minions, and nothing of their keys", () => {
    expect(read("out/expected-hosts")).toBe("db-1.example.com\nweb-1.example.com\n");
    expect(problemsAt(at("host/etc/salt/pki/master/minions_pre"))[0]).toContain("1 minions wait");
  });

  test("the repositories of state files that masters can read", () => {
    expect(read("out/master.yaml")).toEndWith(
      "gitfs:\n  base: master\n  remotes:\n    - https://git.example.com/states.git\n",
    );
    expect(problemsAt(at("host/etc/salt/master.d/b.conf"), 3)[0]).toContain("is not a URL with https");
    expect(problemsAt(at("host/etc/salt/master.d/b.conf"), 5)).toEqual(["nightly runs on the Salt master"]);
  });
});

describe("the report", () => {
  test("names what does not exist here, with file and line", () => {
    expect(problemsAt("states/web.sls", 5)[0]).toContain("zabbix_host.present does not exist here");
    expect(problemsAt("states/_grains/role.py")[0]).toContain("Python code of Salt's _grains");
    expect(problemsAt("states/top.sls", 4)[0]).toContain("the environment dev is not read");
    expect(problemsAt("settings/secret.sls", 1)).toEqual(["the renderer yaml|gpg is not supported"]);
    expect(problemsAt("settings/secret.sls", 3)).toEqual([
      "db:password is encrypted with the GPG key of the Salt master",
    ]);
    expect(problemsAt(at("host/etc/salt/master"), 14)).toEqual([
      "the option external_auth is not taken over",
    ]);
    expect(problemsAt(at("host/etc/salt/master"), 13)).toEqual([]);
  });

  test("compiles for the expected hosts, with the grains that the Salt master knows", () => {
    expect(report.checked).toEqual({ hosts: 2, with_grains: 1 });
    expect(problemsAt("states/db.sls", 1)).toEqual([
      "pillar.gone is not defined, and written as an empty text",
    ]);
    expect(problemsAt("states/web.sls", 3)).toEqual([]);
  });

  test("a file with encrypted values keeps no state from being compiled, and is reported once", () => {
    // The host whose settings come from it.
    expect(problemsAt("states/db.sls", 1)).toHaveLength(1);
    expect(problemsAt("settings/secret.sls")).toHaveLength(2);
    expect(withoutGpg("#!yaml|gpg\na: 1\n")).toBe("#!yaml\na: 1\n");
    expect(withoutGpg("#!jinja | yaml | gpg\n")).toBe("#!jinja|yaml\n");
    expect(withoutGpg("#!gpg\na: 1")).toBe("#!jinja|yaml\na: 1");
    expect(withoutGpg("#!yaml\n# gpg\n")).toBe("#!yaml\n# gpg\n");
  });

  test("is in the directory too, for people and as data", () => {
    expect(JSON.parse(read("out/report.json"))).toEqual(report);
    expect(read("out/report.md")).toContain("- `settings/secret.sls:3`: db:password is encrypted");
    expect(report.written).toEqual({
      ...{ states: 8, settings: 3, groups: 3, rules: 1, schedule_entries: 1, expected_hosts: 2 },
    });
  });

  test("no link leads out of a root", () => {
    expect(existsSync(at("out/states/link"))).toBe(false);
    expect(problemsAt(at("host/srv/salt/link"))[0]).toContain("outside");
  });
});

describe("what is refused leaves nothing behind", () => {
  const before = () => readdirSync(directory.path).sort();

  test("a directory with anything in it", async () => {
    const names = before();
    const { exit, stderr } = await importTo("out");
    expect([exit, stderr]).toEqual([1, expect.stringContaining("is not empty: choose another directory")]);
    expect(before()).toEqual(names);
  });

  test("a directory inside a root", async () => {
    const { exit, stderr } = await importTo("host/srv/salt/out");
    expect([exit, stderr]).toEqual([2, expect.stringContaining("contain one another")]);
    expect(existsSync(at("host/srv/salt/out"))).toBe(false);
  });

  test.each([
    ["file_roots: [a]\n", "expected a map of environments"],
    ["a: !!python/object x\n", "tags are not allowed"],
    ["include: other/*/x.conf\n", "only the last part may be a pattern"],
    ["- a\n", "expected a map of options"],
  ])("the configuration %p", async (text, message) => {
    const names = before();
    writeFileSync(at("host/etc/salt/other"), text);
    const { exit, stderr } = await run(
      ["import", "salt", "--master-config", at("host/etc/salt/other"), "--dir", at("other")],
      { clock: manualClock(), hostname: "here" },
    );
    expect([exit, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(before()).toEqual(names);
  });

  test("a file that appears in the directory while it is written stays", async () => {
    const { createOutput } = await import("../salt/output.ts");
    using output = createOutput(at("raced"));
    output.write("a/b", "text", 0o644);
    mkdirSync(at("raced"));
    writeFileSync(at("raced/theirs"), "");
    expect(() => output.publish()).toThrow("is not empty");
    expect(readdirSync(at("raced"))).toEqual(["theirs"]);
  });

  test("an import that is stopped", async () => {
    const names = before();
    let pauses = 0;
    const host = { names: [], refusal: () => "not here", call: () => Promise.reject(new Error("not here")) };
    const stopped = importSalt({
      ...{ masterConfig: at("host/etc/salt/master"), root: at("host"), out: at("stopped"), facts: {}, host },
      pause: () => (++pauses > 2 ? Promise.reject(new Error("stopped")) : Promise.resolve()),
    });
    await expect(stopped).rejects.toThrow("stopped");
    expect(before()).toEqual(names);
  });

  test("leaves no temporary directory", () => {
    expect(before().filter((name) => name.startsWith("."))).toEqual([]);
  });
});

test("for people, the report is a table", async () => {
  const { exit, stdout } = await importTo("table");
  expect(exit).toBe(0);
  expect(stdout).toMatch(/expected-hosts +2 names\n/);
  expect(stdout).toMatch(/\nsecrets +settings\/secret\.sls:3 +db:password is encrypted/);
});
