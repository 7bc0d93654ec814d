import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { runRecord } from "../harness/run-record.ts";

// Secret values of settings, used by states and functions in every way that showed them, must not be in anything that
// leaves the host: neither in answers, nor on the disk of the bus, nor in a log. A value that is not secret, in the same
// places, shows that they are looked at.

setDefaultTimeout(60_000);

const password = "hunter2/of+the=database";
const motto = "zanzibar-of-the-file";
const open = "kilimanjaro-is-no-secret";
/** The secrets that a person guesses: they stand in the arguments of this run, where no other one may be. */
const [guessed, motley] = ["popocatepetl/of+guesses", "aconcagua-of-the-file"];
for (const secret of [password, motto]) runRecord.register("settings value", secret);

let bus: TestBus;
let master: MasterDaemon;
let peel: Daemon;
let out = "";
const key = "web-1_example";

function put(path: string, text: string): void {
  const file = join(bus.dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

/** Uses a value in every way. */
const states = (name: string, value: string) => `
${out}/${name}.conf:
  file.managed:
    - contents: "password = ${value}"
${out}/${name}.ini:
  file.managed:
    - contents: "[main]"
    - mode: "0644"
  ini.options_present:
    - sections: {main: {word: "${value}"}}
${name}-printing:
  cmd.run:
    - name: printf '%s\\n' '${value}'
${name}-base64:
  cmd.run:
    - name: printf 'x%s' '${value}' | base64 -w0
${name}-failing:
  cmd.run:
    - name: printf '%s' '${value}' >&2; exit 3
${name}/done:
  event.send:
    - data: {word: "the ${value}"}
${out}/${name}:
  archive.extracted:
    - source: "http://ann:${name}-pass@127.0.0.1:9/a.tar?token=${name}-query"
    - source_hash: sha256=${"0".repeat(64)}
`;

beforeAll(async () => {
  bus = await startBus();
  out = join(bus.dir, "out");
  mkdirSync(out);
  put("settings/top.sls", "base:\n  '*': [common, secret.file]\n");
  put(
    "settings/common.sls",
    `db: {password: "${password}"}\nold_password: "${guessed}"\nshown: ${open}\nlogin_pin: 4711\n`,
  );
  put("settings/secret/file.sls", `motto: ${motto}\nmotley: ${motley}\n`);
  put("states/top.sls", "base: {}\n");
  put("states/open.sls", states("open", "{{ settings.shown }}"));
  put("states/named.sls", states("named", "{{ settings.db.password }}"));
  put("states/filed.sls", states("filed", "{{ settings.motto }}"));
  put("states/weak.sls", "a pin 4711 of many:\n  test.nop: []\nother:\n  test.nop:\n    - name: '4711'\n");
  const flags = ["--states-dir", join(bus.dir, "states"), "--settings-dir", join(bus.dir, "settings")];
  master = await startMasterBinary(bus, flags);
  peel = startPeelBinary(bus, master.url, "web-1.example", { dir: join(bus.dir, "web-1") });
  await peel.program.waitFor("waiting for an operator's approval");
  const [pending] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", pending.id);
  await peel.program.waitFor("settings in force");
}, 60_000);
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function run(...words: string[]) {
  const { stdout, stderr } = await svc(bus, "run", "web-1.example", ...words, "--output", "json");
  return { text: stdout + stderr, view: JSON.parse(stdout) };
}

/** Everything that the bus has on its disk. */
const stored = () =>
  readdirSync(join(bus.dir, "store"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
const formsOf = (value: string) => [
  ...[value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)],
  Buffer.from(`x${value}`).toString("base64").slice(2, -4),
];
const countIn = (text: string, value: string) =>
  formsOf(value).reduce((sum, form) => sum + text.split(form).length - 1, 0);

test("a run of states shows no secret in its return; the value that is shown stands in the same places", async () => {
  const { text, view } = await run("state.apply", "open");
  expect(view.outcomes).toEqual({ [key]: "failed" });
  expect(countIn(text, open)).toBeGreaterThanOrEqual(6);
  for (const [sls, value] of [
    ["named", password],
    ["filed", motto],
  ] as const) {
    const masked = await run("state.apply", sls);
    expect(countIn(masked.text, value)).toBe(0);
    expect(masked.text.split("********").length - 1).toBeGreaterThanOrEqual(6);
    // Who may read the file is named with it.
    expect(masked.view.returns[key].return.warnings).toEqual([
      `${sls}.sls:3: ${out}/${sls}.conf holds a secret value of the settings, and every user of the host may read it (mode 0644)`,
      `${sls}.sls:9: ${out}/${sls}.ini holds a secret value of the settings, and every user of the host may read it (mode 0644)`,
    ]);
    // The files have it.
    expect(readFileSync(join(out, `${sls}.conf`), "utf8")).toBe(`password = ${value}\n`);
    const of = (one: typeof view) =>
      one.returns[key].return.states.map((state: { function: string; result: boolean }) => [
        state.function,
        state.result,
      ]);
    expect(of(masked.view)).toEqual(of(view));
  }
});

test("a URL in a message has no user, no password and no query", async () => {
  const { text } = await run("state.apply", "named");
  expect(text).toContain("http://127.0.0.1:9/a.tar");
  for (const part of ["named-pass", "named-query"]) expect(text).not.toContain(part);
});

test("a function that prints a secret, in whatever form and however it is followed, shows none", async () => {
  for (const [command, value] of [
    [`cat ${out}/named.conf ${out}/filed.conf; sleep 1; cat ${out}/named.conf`, password],
    [`base64 -w0 ${out}/named.conf`, password],
    [`cat ${out}/filed.conf >&2; exit 1`, motto],
  ] as const) {
    expect(countIn((await run("cmd.run", command)).text, value)).toBe(0);
    const followed = await svc(bus, "run", "web-1.example", "cmd.run", command, "--follow-output");
    expect(countIn(followed.stdout + followed.stderr, value)).toBe(0);
  }
});

test("neither the disk of the bus nor a log has one, where they have the other value many times", async () => {
  const disk = stored();
  expect(countIn(disk, open)).toBeGreaterThanOrEqual(10);
  for (const value of [password, motto]) expect(countIn(disk, value)).toBe(0);
  for (const program of [master.program, peel.program]) {
    for (const value of [password, motto]) expect(countIn(program.output(), value)).toBe(0);
  }
});

test("an echo says nothing of a guess: what was sent comes back unchanged", async () => {
  for (const guess of [guessed, motley, "4711", "a-wrong-guess-of-mine"]) {
    const { view } = await run("test.echo", guess);
    expect(String(view.returns[key].return)).toBe(guess);
  }
});

test("a short value is masked only as a whole text, and named as too weak", async () => {
  const { view } = await run("state.apply", "weak");
  const names = view.returns[key].return.states.map(({ id, name }: { id: string; name: string }) => [
    id,
    name,
  ]);
  expect(names).toEqual([
    ["a pin 4711 of many", "a pin 4711 of many"],
    ["other", "********"],
  ]);
  const facts = await run("facts.get", "weak_secrets");
  expect(facts.view.returns[key].return).toEqual(["login_pin"]);
});

test("a fact that a state or script sets with a secret is absent; one that an operator sends stays", async () => {
  const script = join(bus.dir, "web-1", "facts.d", "a.yaml");
  mkdirSync(dirname(script), { recursive: true, mode: 0o755 });
  writeFileSync(script, `scripted: the ${password}\nplain: ${open}\n`, { mode: 0o644 });
  await run("facts.refresh");
  await run("facts.set", "guess", motley);
  const { view } = await run("facts.items");
  expect(view.returns[key].return).toMatchObject({ plain: open });
  expect(view.returns[key].return).not.toHaveProperty("scripted");
  expect((await run("facts.get", "guess")).view.returns[key].return).toBe("********");
});

test("a value that was replaced stays a secret for a day", async () => {
  put("settings/common.sls", `db: {password: another-one-of-them}\nshown: ${open}\nlogin_pin: 4711\n`);
  await peel.program.waitFor(/settings in force[\s\S]*settings in force/);
  const { text } = await run("cmd.run", `cat ${out}/named.conf`);
  expect(text).toContain("password = ********");
});

test("a peel that starts again publishes none before it knows the names of its host", async () => {
  await peel[Symbol.asyncDispose]();
  peel = startPeelBinary(bus, master.url, "web-1.example", { dir: join(bus.dir, "web-1") });
  await peel.program.waitFor("peel connected");
  const { view } = await run("facts.items");
  expect(view.returns[key].return).toMatchObject({ plain: open });
  expect(view.returns[key].return).not.toHaveProperty("scripted");
  expect([countIn(stored(), password), countIn(stored(), open) > 0]).toEqual([0, true]);
});
