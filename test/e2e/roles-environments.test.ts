import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { type Program, runProgram } from "../harness/process.ts";
import { runRecord } from "../harness/run-record.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// Operators with nothing but a role that runs states, who may also push branches and tags: masters publish what they
// push, and each door refuses to run it for them. Each refusal has a control that differs in one word, and runs.

setDefaultTimeout(120_000);

const roles = (line = "") => `roles:
  deployer:
    jobs:
      - {functions: [state.apply, test.ping], targets: '*'}
    rollouts: [start]
  releaser:
    jobs:
      - {functions: [state.apply], targets: '*', environments: [base, 'release/*', v9]}
  historian:
    jobs:
      - {functions: [state.apply], targets: '*', commits: any}
  pair:
    jobs:
      - {functions: [state.apply], targets: '*', environments: ['*'], approvals: 1}
    approvals: [list, show, approve]
  agreeing:
    jobs:
      - {functions: [state.apply], targets: '*'}
    approvals: [list, show, approve]
  wide:
    jobs:
      - functions: [state.apply]
        targets: '*'
${line}`;

const hex64 = /^[0-9a-f]{64}$/;

interface Person {
  svc(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
}

let host: SingleHost;
let master: Program;
let remote: TestRepository;
let rolesFile = "";
let out = "";
const files = temporaryDirectory("roles-environments");
const people = new Map<string, Person>();
const commits: string[] = [];

const tree = (text: string) => ({
  "top.sls": "base:\n  '*': [web]\n",
  "web.sls": `${join(out, "web")}:\n  file.managed:\n    - contents: ${text}\n`,
});
const written = () => (existsSync(join(out, "web")) ? readFileSync(join(out, "web"), "utf8").trim() : "");

async function personOf(name: string, role: string): Promise<Person> {
  const home = join(files.path, name);
  mkdirSync(home, { mode: 0o700 });
  const added = await host.svc("operator", "add", name, "--role", role, "--with-key");
  const file = join(home, "file.operator");
  writeFileSync(file, added.stdout, { mode: 0o600 });
  const options = { cwd: home, env: { HOME: home, PATH: process.env.PATH ?? "" } };
  const svc = (...args: string[]) => runProgram([binaries.cli, ...args], options);
  expect((await svc("login", file)).code).toBe(0);
  return { svc };
}
const as = (name: string, ...args: string[]) => {
  const person = people.get(name);
  if (person === undefined) throw new Error(`no person ${name}`);
  return person.svc(...args);
};
const apply = (...args: string[]) => ["run", "web-1.example", "state.apply", "web", ...args];

/** Runs what is in force. */
async function applied(): Promise<string> {
  await host.svc(...apply());
  return written();
}

beforeAll(async () => {
  host = await initSingleHost();
  out = join(files.path, "out");
  mkdirSync(out);
  remote = makeRepository(join(files.path, "git"));
  commits.push(remote.commit("main", tree("old")));
  rolesFile = join(files.path, "roles.yaml");
  writeFileSync(rolesFile, roles());
  master = await host.startMaster([
    ...["--roles-file", rolesFile, "--gitfs-remotes", remote.url, "--gitfs-interval", "1s"],
    ...["--gitfs-environments", "release/*", "--gitfs-tags", "v[0-9]"],
  ]);
  const peel = host.startPeel("web-1.example");
  const pending = await until(
    async () => JSON.parse((await host.svc("enroll", "list", "--output", "json")).stdout) as { id: string }[],
    (found) => found.length === 1,
  );
  expect((await host.svc("enroll", "approve", pending[0]?.id ?? "")).code).toBe(0);
  await peel.waitFor("peel connected");
  for (const [name, role] of [
    ["ann", "deployer"],
    ["rob", "releaser"],
    ["his", "historian"],
    ["pam", "pair"],
    ["pat", "pair"],
    ["agi", "agreeing"],
    ["wil", "wide"],
  ] as const) {
    people.set(name, await personOf(name, role));
  }
  remote.commit("release/evil", tree("evil"));
  remote.git("tag", "v9", "refs/heads/release/evil");
  commits.push(remote.commit("main", tree("new")));
  // The master publishes all of it: who may run it can.
  for (const [text, ...args] of [
    ["evil", "environment=release/evil"],
    ["evil", "environment=v9"],
    ["new"],
  ] as const) {
    await until(
      async () => {
        rmSync(join(out, "web"), { force: true });
        await host.svc(...apply(...args));
        return written();
      },
      (found) => found === text,
    );
  }
});
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const evil = [
  ["a pushed branch", "release/evil"],
  ["a pushed tag", "v9"],
  ["a name that no environment has", "nowhere"],
] as const;

/** What a refusal ends with: the two lines that are missing. */
const lines = (environment: string, line = 4, role = "deployer", commits = "newest") =>
  `"environments: [base${environment === "base" ? "" : `, ${environment}`}]" and "commits: ${commits}" in the rule of role ${role}, roles.yaml:${line}, would allow it`;

test("svc run, svc can and rollouts of base are allowed: the controls", async () => {
  rmSync(join(out, "web"));
  expect((await as("ann", ...apply())).code).toBe(0);
  expect(written()).toBe("new");
  expect((await as("ann", "can", ...apply())).code).toBe(0);
  rmSync(join(out, "web"));
  const rollout = await as("ann", "rollout", "start", "web-1.example", "state.apply", "web");
  expect([rollout.stderr, rollout.code]).toEqual([expect.any(String), 0]);
  expect(written()).toBe("new");
});

test.each(evil)("who may run states of base alone does not run %s", async (_, environment) => {
  for (const args of [
    [`environment=${environment}`],
    [`saltenv=${environment}`],
    ["--async", `environment=${environment}`],
  ]) {
    const refused = await as("ann", ...apply(...args));
    expect([refused.code, refused.stderr.includes(lines(environment))]).toEqual([1, true]);
    // A name that exists and one that does not differ in nothing.
    expect(refused.stderr).not.toContain("does not exist");
  }
  const preview = await as("ann", ...apply(`environment=${environment}`, "--preview"));
  expect(preview).toMatchObject({ code: 1, stderr: expect.stringContaining("you may not do this") });
  const can = await as("ann", "can", ...apply(`environment=${environment}`));
  expect(can).toMatchObject({ code: 1, stdout: expect.stringContaining(lines(environment)) });
  expect(written()).toBe("new");
});

test.each(evil)("neither in a rollout, nor in its check: %s", async (_, environment) => {
  const start = ["rollout", "start", "web-1.example"];
  for (const args of [
    ["state.apply", "web", `environment=${environment}`],
    ["test.ping", "--check", `state.apply web environment=${environment}`],
  ]) {
    const refused = await as("ann", ...start, ...args);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(lines(environment)) });
  }
  expect(written()).toBe("new");
  // Control: the check of base.
  expect((await as("ann", ...start, "test.ping", "--check", "state.apply web")).code).toBe(0);
});

test("over REST the same is refused, with a token of the role", async () => {
  const made = await host.svc("token", "create", "--name", "ci", "--role", "deployer");
  expect(made.code).toBe(0);
  const token = made.stdout.trim();
  runRecord.register("token", token);
  const post = (path: string, body: object) =>
    fetch(`https://127.0.0.1:${host.apiPort}/api/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ target: "web-1.example", function: "state.apply", ...body }),
      tls: { ca: readFileSync(join(host.dir, "bus", "nats-ca.crt"), "utf8") },
    });
  for (const [, environment] of evil) {
    for (const path of ["jobs", "rollouts"]) {
      const refused = await post(path, { args: { mods: ["web"], environment } });
      expect([path, refused.status]).toEqual([path, 403]);
      expect(await refused.text()).toContain("would allow it");
    }
  }
  expect((await post("jobs", { args: { mods: ["web"], commit: commits[0] } })).status).toBe(403);
  const run = { args: { mods: ["web"] } };
  const accepted = await post("jobs", run);
  expect(accepted.status).toBe(202);
  const { content } = (await accepted.json()) as {
    content: { environment: string; commit: string; snapshot: string };
  };
  expect(content).toEqual({
    environment: "base",
    commit: commits[1] ?? "",
    snapshot: expect.stringMatching(hex64) as never,
  });
  // A digest binds a request to these files; others are refused.
  expect((await post("jobs", { ...run, snapshot: content.snapshot })).status).toBe(202);
  const other = await post("jobs", { ...run, snapshot: "ab".repeat(32) });
  expect([other.status, await other.text()]).toEqual([409, expect.stringContaining("abababababab")]);
  expect((await post("rollouts", { ...run, snapshot: content.snapshot })).status).toBe(202);
});

test("who agrees needs the environment as well", async () => {
  const parked = await as("pam", ...apply("environment=release/evil", "--output", "json"));
  const { approval } = JSON.parse(parked.stdout) as { approval: string };
  const refused = await as("agi", "approval", "approve", approval);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(lines("release/evil", 18, "agreeing")),
  });
  expect(written()).toBe("new");
  // Control: somebody who has it.
  const agreed = await as("pat", "approval", "approve", approval);
  expect([agreed.stderr, agreed.code]).toEqual([expect.any(String), 0]);
  await until(written, (found) => found === "evil");
  await host.svc(...apply());
  expect(written()).toBe("new");
});

test("a commit that was the newest when it was requested runs after a later push", async () => {
  const [, requested = ""] = commits;
  const parked = await as("pam", ...apply(`commit=${requested}`, "--output", "json"));
  const { approval } = JSON.parse(parked.stdout) as { approval: string };
  const later = remote.commit("main", tree("later"));
  commits.push(later);
  await until(applied, (found) => found === "later");
  expect((await as("pat", ...apply(`commit=${requested}`))).stderr).toContain("other than the newest");
  expect((await as("pat", "approval", "approve", approval)).code).toBe(0);
  await until(written, (found) => found === "new");
  remote.commit("main", tree("new"));
  await until(applied, (found) => found === "new");
});

test("an older commit needs a role that says so", async () => {
  const old = commits[0] ?? "";
  const newest = remote.git("rev-parse", "main");
  const refused = await as("ann", ...apply(`commit=${old}`));
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      `allows a commit of base other than the newest; ${lines("base", 4, "deployer", "any")}`,
    ),
  });
  expect((await as("ann", ...apply(`commit=${"0".repeat(40)}`))).stderr).toContain("other than the newest");
  expect((await as("ann", "can", ...apply(`commit=${old.slice(0, 12)}`))).code).toBe(1);
  // Controls: the newest commit by its name, and a role with `commits: any`, of base alone.
  expect((await as("ann", ...apply(`commit=${newest.slice(0, 12)}`))).code).toBe(0);
  expect(written()).toBe("new");
  expect((await as("his", ...apply(`commit=${old}`))).code).toBe(0);
  expect(written()).toBe("old");
  expect((await as("his", ...apply("environment=v9"))).stderr).toContain("allows the environment v9");
  expect((await as("his", ...apply())).code).toBe(0);
});

test("two lines of configuration let a role run a branch, and no others", async () => {
  const run = () => as("wil", ...apply("environment=release/evil"));
  expect((await run()).code).toBe(1);
  writeFileSync(rolesFile, roles("        environments: [base, 'release/*']\n"));
  expect((await run()).code).toBe(0);
  expect(written()).toBe("evil");
  expect((await as("wil", ...apply("environment=v9"))).stderr).toContain("allows the environment v9");
  expect((await as("wil", ...apply("environment=release/none"))).stderr).toContain(
    'environment "release/none" does not exist',
  );
  expect((await as("rob", ...apply("environment=v9"))).code).toBe(0);
  await host.svc(...apply());
  const shown = await as("rob", "can", "--role", "releaser", ...apply("environment=v9"));
  expect(shown.stdout).toContain("yes: role releaser, roles.yaml:8");
});

test("an event chooses no environment: a rule that would let it is refused", async () => {
  const rules = join(files.path, "rules");
  mkdirSync(rules);
  const rule = (environment: string) => `rules:
  - name: deploy
    match: deploy/*
    do:
      - job: {target: web-1.example, function: state.apply, args: {mods: [web], environment: ${environment}}}
`;
  writeFileSync(join(rules, "deploy.yaml"), rule(`'${["$", "{data.environment}"].join("")}'`));
  const refused = await host.svc("reactor", "lint", rules);
  expect([refused.code, refused.stdout + refused.stderr]).toEqual([
    1,
    expect.stringContaining("environment"),
  ]);
  // Control: one that the rule itself names.
  writeFileSync(join(rules, "deploy.yaml"), rule("release/1"));
  expect((await host.svc("reactor", "lint", rules)).code).toBe(0);
});

test("answers, events, the audit and what svc prints name the files that ran", async () => {
  const ran = await host.svc(...apply("environment=v9", "--output", "json"));
  const [line = ""] = /files of v9 at [0-9a-f]{12} \(commit [0-9a-f]{12}\)/.exec(ran.stderr) ?? [];
  expect(line).not.toBe("");
  const [job = ""] = /job-\w+/.exec(ran.stderr) ?? [];
  const shown = await host.svc("job", "show", job, "--output", "json");
  const { content } = JSON.parse(shown.stdout) as {
    content: { environment: string; commit: string; snapshot: string };
  };
  expect(content).toEqual({
    environment: "v9",
    commit: remote.git("rev-parse", "v9"),
    snapshot: expect.stringMatching(hex64) as never,
  });
  const text = await host.svc("job", "show", job);
  expect(text.stdout).toContain(
    `v9 at ${content.snapshot.slice(0, 12)} (commit ${content.commit.slice(0, 12)})`,
  );
  const started = await host.svc("rollout", "start", "web-1.example", "state.apply", "web", "environment=v9");
  expect(started.stderr).toContain(line);
  const [rollout = ""] = /rol-\w+/.exec(started.stderr) ?? [];
  const one = await host.svc("rollout", "show", rollout, "--output", "json");
  expect(JSON.parse(one.stdout)).toMatchObject({ content });
  expect((await host.svc("rollout", "show", rollout)).stdout).toContain(line.replace("files of ", ""));
  const events = await until(
    async () =>
      (await host.svc("events", "--since", "5m", "--tag", `svc/job/${job}/*`, "--output", "jsonl")).stdout,
    (found) => found.includes("/ended"),
  );
  for (const event of events.trim().split("\n"))
    expect(JSON.parse(event)).toMatchObject({ data: { content } });
  const audit = JSON.parse(
    (await host.svc("audit", "list", "--output", "json", "--limit", "500")).stdout,
  ) as {
    subjects: Record<string, unknown>;
    operator: string;
    action: string;
    outcome: string;
    reason?: string;
  }[];
  const own = audit.find(({ subjects, action }) => action === "jobs.create" && subjects.environment === "v9");
  expect(own?.subjects).toMatchObject(content);
  const refused = audit.filter(({ operator, outcome }) => operator === "ann" && outcome === "refused");
  expect(refused.some(({ reason = "" }) => reason.includes("the environment"))).toBe(true);
  expect(master.output()).not.toContain("uncaught");
});
