import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { runProgram } from "../harness/process.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// Someone whose requests need the agreement of another operator, and who may push. What runs is what the other one
// saw. Each attack has a control: the pushed files are in force, and run for an operator who needs no agreement.

setDefaultTimeout(120_000);

const roles = `roles:
  pair:
    jobs: [{functions: [state.apply], targets: '*', environments: ['*'], approvals: 1}]
    rollouts: [list, show, start]
    approvals: [list, show, approve, deny]
`;

type Svc = (...args: string[]) => Promise<{ code: number; stdout: string; stderr: string }>;

let host: SingleHost;
let remote: TestRepository;
let ann: Svc;
let ben: Svc;
let out = "";
const files = temporaryDirectory("approvals-files");

const tree = (text: string) => ({
  "top.sls": "base:\n  '*': [web]\n",
  "web.sls": `${join(out, "web")}:\n  file.managed:\n    - contents: ${text}\n`,
});
const written = () => (existsSync(join(out, "web")) ? readFileSync(join(out, "web"), "utf8").trim() : "");
const wipe = () => rmSync(join(out, "web"), { force: true });
const apply = (environment: string) => ["web-1.example", "state.apply", "web", `environment=${environment}`];

async function personOf(name: string): Promise<Svc> {
  const home = join(files.path, name);
  mkdirSync(home, { mode: 0o700 });
  const added = await host.svc("operator", "add", name, "--role", "pair", "--with-key");
  const file = join(home, "file.operator");
  writeFileSync(file, added.stdout, { mode: 0o600 });
  const options = { cwd: home, env: { HOME: home, PATH: process.env.PATH ?? "" } };
  const svc: Svc = (...args) => runProgram([binaries.cli, ...args], options);
  expect((await svc("login", file)).code).toBe(0);
  return svc;
}

/** The control: the administrator runs what is in force until it writes this text. */
async function runsNow(environment: string, text: string): Promise<void> {
  await until(
    async () => {
      wipe();
      await host.svc("run", ...apply(environment));
      return written();
    },
    (found) => found === text,
    60_000,
  );
  wipe();
}

async function park(...args: string[]): Promise<string> {
  const requested = await ann(...args);
  expect([requested.code, requested.stderr]).toEqual([0, ""]);
  return /apr-\w{27}/.exec(requested.stdout)?.[0] ?? "";
}

const shown = async (id: string) =>
  JSON.parse((await ben("approval", "show", id, "--output", "json")).stdout) as {
    outcome?: string;
    content: { environment: string; commit: string; snapshot: string };
    job?: string;
    rollout?: string;
  };

beforeAll(async () => {
  host = await initSingleHost();
  out = join(files.path, "out");
  mkdirSync(out);
  remote = makeRepository(join(files.path, "git"));
  remote.commit("main", tree("base-good"));
  remote.commit("feature", tree("feature-good"));
  const rolesFile = join(files.path, "roles.yaml");
  writeFileSync(rolesFile, roles);
  await host.startMaster([
    ...["--roles-file", rolesFile, "--gitfs-remotes", remote.url, "--gitfs-interval", "1s"],
    ...["--gitfs-environments", "feature"],
  ]);
  const peel = host.startPeel("web-1.example");
  const pending = await until(
    async () => JSON.parse((await host.svc("enroll", "list", "--output", "json")).stdout) as { id: string }[],
    (found) => found.length === 1,
  );
  expect((await host.svc("enroll", "approve", pending[0]?.id ?? "")).code).toBe(0);
  await peel.waitFor("peel connected");
  ann = await personOf("ann");
  ben = await personOf("ben");
});
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});
beforeEach(wipe);

test.each(["feature", "base"])(
  "of %s runs what was agreed to, whatever is pushed meanwhile",
  async (name) => {
    const branch = name === "base" ? "main" : name;
    const commit = remote.commit(branch, tree(`${name}-good`));
    await runsNow(name, `${name}-good`);
    const id = await park("run", ...apply(name));
    const { content } = await shown(id);
    expect(content).toMatchObject({ environment: name, commit: expect.stringMatching(/^[0-9a-f]{40}$/) });
    // Equal files may be of an earlier commit.
    if (name === "feature") expect(commit).toHaveLength(40);
    remote.commit(branch, tree(`${name}-evil`));
    await runsNow(name, `${name}-evil`);
    const text = (await ben("approval", "show", id, "--diff")).stdout;
    expect(text).toContain(` at ${content.snapshot.slice(0, 12)} (commit `);
    // What the host ran last is what was pushed.
    expect(text).toContain("1 peel, web-1.example: ran ");
    expect(text).toContain("  ~ web.sls\n");
    expect(text).toContain(`-    - contents: ${name}-evil\n+    - contents: ${name}-good\n`);
    expect((await ann("approval", "approve", id)).code).not.toBe(0);
    expect((await ben("approval", "approve", id)).code).toBe(0);
    await until(written, (found) => found !== "", 30_000);
    expect(written()).toBe(`${name}-good`);
    const { job = "" } = await shown(id);
    expect(JSON.parse((await host.svc("job", "show", job, "--output", "json")).stdout).content).toMatchObject(
      content,
    );
  },
);

test("a rollout runs what was agreed to, and so does its check", async () => {
  remote.commit("feature", tree("rollout-good"));
  await runsNow("feature", "rollout-good");
  const id = await park(
    ...["rollout", "start", ...apply("feature")],
    ...["--check", "state.apply web environment=feature"],
  );
  remote.commit("feature", tree("rollout-evil"));
  await runsNow("feature", "rollout-evil");
  expect((await ben("approval", "approve", id)).code).toBe(0);
  await until(written, (found) => found !== "", 30_000);
  expect(written()).toBe("rollout-good");
});

test("a branch that is deleted while a request waits takes nothing from it", async () => {
  const commit = remote.commit("feature", tree("kept"));
  // The host has no copy of these files, so they must still be published when it fetches them.
  const id = await until(
    async () => {
      const one = await park("run", ...apply("feature"));
      if ((await shown(one)).content.commit === commit) return one;
      await ann("approval", "deny", one);
      return "";
    },
    (found) => found !== "",
    90_000,
  );
  remote.git("update-ref", "-d", "refs/heads/feature");
  await until(
    () => host.svc("run", ...apply("feature")),
    ({ stderr }) => stderr.includes('environment "feature" does not exist'),
    90_000,
  );
  wipe();
  expect((await ben("approval", "approve", id)).code).toBe(0);
  await until(written, (found) => found !== "", 30_000);
  expect(written()).toBe("kept");
});

test("pushes at every moment change nothing of a request: not while it waits, and in no wave", async () => {
  const peels = ["race-1", "race-2"];
  for (const peel of peels) host.startPeel(peel);
  const pending = await until(
    async () => JSON.parse((await host.svc("enroll", "list", "--output", "json")).stdout) as { id: string }[],
    (found) => found.length === peels.length,
  );
  expect((await host.svc("enroll", "approve", ...pending.map(({ id }) => id))).code).toBe(0);
  await until(
    async () => (await host.svc("run", "race-*", "test.ping")).stderr,
    (text) => text.includes("2 peels: 2 ok"),
  );
  const state = (text: string) => ({
    "web.sls": `{% set file = "${out}/" ~ facts.id %}\n{{ file }}:\n  file.managed:\n    - contents: ${text}\n`,
  });
  const textOf = (commit: string) => remote.git("show", `${commit}:web.sls`).split("contents: ")[1]?.trim();
  remote.commit("feature", state("race-0"));
  let isPushing = true;
  let pushes = 0;
  let turns = 0;
  const pushing = until(
    () => {
      if (turns++ % 10 === 0) remote.commit("feature", state(`race-${++pushes}`));
      return !isPushing;
    },
    undefined,
    100_000,
  );
  // Whatever was in force when it was parked, it is one of these commits.
  const parks = async () => {
    const requested = await ann(
      ...["rollout", "start", "race-*", "state.apply", "web", "environment=feature"],
      ...["--canary", "1", "--waves", "1"],
    );
    return /apr-\w{27}/.exec(requested.stdout)?.[0] ?? "";
  };
  const commits = new Set<string>();
  try {
    for (let round = 0; round < 2 || (round < 5 && commits.size < 2); round++) {
      const id = await until(parks, (found) => found !== "");
      const { content } = await shown(id);
      const before = pushes;
      await until(() => pushes > before);
      expect((await ben("approval", "approve", id)).code).toBe(0);
      const { rollout = "" } = await until(
        () => shown(id),
        (one) => one.rollout !== undefined,
      );
      const ended = await until(
        async () => JSON.parse((await host.svc("rollout", "show", rollout, "--output", "json")).stdout),
        ({ status }) => status !== "running",
        60_000,
      );
      expect([ended.status, ended.content.snapshot]).toEqual(["completed", content.snapshot]);
      const wanted = textOf(content.commit);
      expect(wanted).toMatch(/^race-\d+$/);
      for (const peel of peels)
        expect([peel, readFileSync(join(out, peel), "utf8").trim()]).toEqual([peel, wanted ?? ""]);
      commits.add(content.commit);
    }
  } finally {
    isPushing = false;
    await pushing;
  }
  expect(commits.size).toBeGreaterThan(1);
});
