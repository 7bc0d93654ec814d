import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import { type Program, runProgram, startProgram } from "../harness/process.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// Operators whose only right is to run jobs, or to start rollouts, with the built binaries: they see what they started
// to its end, and nothing else.

setDefaultTimeout(60_000);

const roles = `roles:
  runner:
    jobs: [{functions: [cmd.run, test.*], targets: 'web-*'}]
  roller:
    rollouts: [start]
    jobs: [{functions: [cmd.run], targets: 'web-*'}]
`;

let host: SingleHost;
const files = temporaryDirectory("roles-alone");

/** Somebody with a laptop, and with nothing of the fleet but their operator file. */
async function personOf(name: string, role: string) {
  const home = join(files.path, name);
  mkdirSync(home, { mode: 0o700 });
  const added = await host.svc("operator", "add", name, "--role", role, "--with-key");
  const file = join(home, "file.operator");
  writeFileSync(file, added.stdout, { mode: 0o600 });
  const options = { cwd: home, env: { HOME: home, PATH: process.env.PATH ?? "" } };
  const svc = (...args: string[]) => runProgram([binaries.cli, ...args], options);
  expect((await svc("login", file)).code).toBe(0);
  return { svc, start: (...args: string[]): Program => startProgram([binaries.cli, ...args], options) };
}

beforeAll(async () => {
  host = await initSingleHost();
  const file = join(files.path, "roles.yaml");
  writeFileSync(file, roles);
  await host.startMaster(["--roles-file", file]);
  const peel = host.startPeel("web-1.example");
  const pending = await until(
    async () => JSON.parse((await host.svc("enroll", "list", "--output", "json")).stdout) as { id: string }[],
    (found) => found.length === 1,
  );
  expect((await host.svc("enroll", "approve", pending[0]?.id ?? "")).code).toBe(0);
  await peel.waitFor("peel connected");
});
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

/** A command that says when it runs, and ends when its gate is there. */
function gated(name: string) {
  const gate = join(files.path, name);
  return {
    command: `echo began; while [ ! -e ${gate} ]; do sleep 0.1; done; echo ended`,
    open: () => writeFileSync(gate, ""),
  };
}

/** What a server of the bus refuses to publish: it reached no master. */
const mayNotSend = (name: string, what: string, command: string) =>
  `svc: ${name} may not ${what} (${command}): no role of ${name} allows it`;

test("who may only run jobs sees their own job while it runs, and nothing of the fleet beside it", async () => {
  const ann = await personOf("ann", "runner");
  const { command, open } = gated("gate-of-ann");
  await using running = ann.start("run", "web-1.example", "cmd.run", command, "--follow");
  await running.waitFor("began");
  const [jid = ""] = /job-\w+/.exec(running.output()) ?? [];
  const listed = await ann.svc("job", "list", "--output", "json");
  expect(JSON.parse(listed.stdout)).toMatchObject([{ jid, status: "running", created_by: "ann" }]);
  const shown = await ann.svc("job", "show", jid, "--output", "json");
  expect(JSON.parse(shown.stdout)).toMatchObject({ jid, status: "running", counts: { pending: 1 } });
  await using watching = ann.start("job", "watch", jid);
  expect((await ann.svc("can", "run", "web-1.example", "cmd.run")).stdout).toStartWith("yes: role runner");
  const preview = await ann.svc("run", "web-*", "test.ping", "--preview");
  expect(preview.stderr).toBe("1 peel, 1 connected; nothing was run\n");

  const other = await ann.svc("run", "web-1.example", "service.restart", "nginx");
  expect([other.code, other.stderr]).toEqual([
    1,
    expect.stringContaining("ann (role runner) may not do this: no rule allows service.restart"),
  ]);
  for (const [words, what, command] of [
    ["events", "list events", "events"],
    ["events --follow", "follow events", "events"],
    ["audit list --follow", "do this", "audit list"],
    ["peels list", "list peels", "peels list"],
    ["facts get web-1.example", "get facts", "facts get"],
    ["settings show web-1.example", "show settings", "settings show"],
    ["enroll list", "list enrollments", "enroll list"],
    ["rollout list", "list rollouts", "rollout list"],
    ["rollout start web-* test.ping", "start rollouts", "rollout start"],
  ] as const) {
    const ran = await ann.svc(...words.split(" "));
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(mayNotSend("ann", what, command))]);
  }
  open();
  expect([await running.exited, await watching.exited]).toEqual([0, 0]);
  expect(running.output()).toMatch(/^web-1\.example +ok/m);
  expect(watching.output()).toMatch(/^web-1\.example +ok/m);
});

test("who may only start rollouts follows their own rollout and its jobs, and holds none", async () => {
  const rob = await personOf("rob", "roller");
  const { command, open } = gated("gate-of-rob");
  await using running = rob.start("rollout", "start", "web-*", "cmd.run", command);
  await running.waitFor("wave 1/1: job");
  const [id = ""] = /rol-\w+/.exec(running.output()) ?? [];
  const [jid = ""] = /job-\w+/.exec(running.output()) ?? [];
  const shown = await rob.svc("rollout", "show", id, "--output", "json");
  expect(JSON.parse(shown.stdout)).toMatchObject({ id, status: "running", waves: [{ jid }] });
  await using watching = rob.start("rollout", "watch", id);
  await watching.waitFor(`wave 1/1: ${jid}`);
  const other = await rob.svc("rollout", "start", "web-*", "service.restart", "nginx");
  expect([other.code, other.stderr]).toEqual([
    1,
    expect.stringContaining("rob (role roller) may not do this: no rule allows service.restart"),
  ]);
  for (const [words, what, command] of [
    [`rollout pause ${id}`, "pause rollouts", "rollout pause"],
    [`rollout abort ${id}`, "abort rollouts", "rollout abort"],
    ["rollout list", "list rollouts", "rollout list"],
    ["events --follow", "follow events", "events"],
    ["peels list", "list peels", "peels list"],
  ] as const) {
    const ran = await rob.svc(...words.split(" "));
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(mayNotSend("rob", what, command))]);
  }
  open();
  expect([await running.exited, await watching.exited]).toEqual([0, 0]);
  expect(running.output()).toContain("wave 1/1: 1 ok");
  expect(watching.output()).toContain(`${id} completed; 0 peels of 1 failed`);
});
