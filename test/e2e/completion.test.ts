import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { offerIds } from "../../internal/cli/completion/ids.ts";
import { type Enrollment, encodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { manualClock, settle } from "../harness/clock.ts";
import { binaries, svc } from "../harness/fleet.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel, operate, submitPeel } from "../harness/peel-connection.ts";
import { runProgram } from "../harness/process.ts";

// Shell completion with a real fleet: the scripts call svc, which reads the bus.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;
let config: string;
const ids = { web: "", db: "", waiting: "", rejected: "" };

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  ids.web = (await enrollPeel(master, "web-1_example_com")).enrollmentId;
  ids.db = (await enrollPeel(master, "db-1_example_com")).enrollmentId;
  ids.waiting = (await submitPeel(master, "new-1_example_com")).enrollmentId;
  ids.rejected = (await submitPeel(master, "bad-1_example_com")).enrollmentId;
  await operate(master, ids.rejected, "reject");
  config = join(bus.dir, "svc.yaml");
  const text = `master: {urls: ["${bus.url}"], creds_file: ${join(bus.authDir, "admin.creds")}, tls_ca: ${bus.caFile}}\n`;
  writeFileAtomic(config, text, secretMode);
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** The candidates of bash for the last word of a line; `svc` is the compiled binary. */
async function offered(...words: string[]): Promise<string[]> {
  const script = `source <(svc completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const path = `${join(binaries.cli, "..")}:/usr/bin:/bin`;
  const { code, stdout, stderr } = await runProgram(["bash", "-uc", script, "bash", "svc", ...words], {
    env: { PATH: path, HOME: bus.dir },
  });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.split("\n").filter(Boolean);
}

test("bash offers the enrollments that a command can act on", async () => {
  const enroll = (...words: string[]) => offered("--config", config, "enroll", ...words);
  expect(await enroll("approve", "")).toEqual(["new-1.example.com"]);
  expect(await enroll("approve", "n")).toEqual(["new-1.example.com"]);
  expect(await enroll("reject", "enr-")).toEqual([ids.waiting]);
  const members = ["db-1.example.com", "web-1.example.com"];
  expect((await enroll("revoke", "--reason", "stolen", "")).sort()).toEqual(members);
  expect((await enroll("revoke", "--reason", "stolen", "enr-")).sort()).toEqual([ids.db, ids.web].sort());
  const all = ["bad-1.example.com", "db-1.example.com", "new-1.example.com", "web-1.example.com"];
  expect((await enroll("show", "")).sort()).toEqual(all);
  expect((await enroll("show", "enr-")).sort()).toEqual(Object.values(ids).sort());
  expect(await enroll("show", ids.web.slice(0, -1))).toEqual([ids.web]);
  expect(await enroll("approve", "nothing-like-it")).toEqual([]);
  expect(await enroll("approve", ids.waiting, "")).not.toContain(ids.waiting);
});

test("bash offers peels with their dots, also behind a quote and for an option", async () => {
  const line = ["--config", "=", config];
  expect(await offered(...line, "run", "")).toEqual(["db-1.example.com", "web-1.example.com"]);
  expect(await offered(...line, "run", "'w")).toEqual(["web-1.example.com"]);
  expect(await offered(...line, "run", "web-1.example.com", "")).not.toContain("db-1.example.com");
  expect(await offered(...line, "doctor", "n")).toEqual(["new-1.example.com"]);
  expect(await offered(...line, "job", "show", "job-x", "--peel", "=", "d")).toEqual(["db-1.example.com"]);
});

test("bash offers jobs, and to stop only those that run", async () => {
  const peel = await enrollPeel(master, "slow-1_example_com");
  await using connection = await connectPeel(bus, peel);
  await connection.nats.flush();
  const started = await svc(bus, "run", "slow-1.example.com", "test.ping", "--async");
  const jid = started.stdout.trim();
  expect([started.code, jid]).toEqual([0, expect.stringMatching(/^job-/)]);
  expect(await offered("--config", config, "job", "cancel", "job-")).toEqual([jid]);
  expect((await svc(bus, "job", "cancel", jid)).code).toBe(0);
  expect(await offered("--config", config, "job", "show", "")).toContain(jid);
});

test("bash offers rollouts", async () => {
  await enrollPeel(master, "late-1_example_com");
  const started = await svc(bus, "rollout", "start", "late-1.example.com", "test.ping", "--async");
  const id = /rol-\w+/.exec(`${started.stdout}${started.stderr}`)?.[0] ?? "none";
  expect([started.code, id]).toEqual([0, expect.stringMatching(/^rol-/)]);
  expect(await offered("--config", config, "rollout", "abort", "")).toEqual([id]);
});

test("bash offers the facts of the peel that is named, and of any for a list", async () => {
  const connection = await connectTo(bus, "master");
  const facts = await openBucket(connection, "facts");
  await facts.put("web-1_example_com", encode({ os: "Debian", osrelease: "12", "$(touch x)": 1 }));
  const line = ["--config", config, "facts"];
  expect(await offered(...line, "get", "web-1.example.com", "")).toEqual(["os", "osrelease"]);
  expect(await offered(...line, "get", "web-1.example.com", "osr")).toEqual(["osrelease"]);
  expect(await offered(...line, "get", "db-1.example.com", "")).toEqual([]);
  expect(await offered("--config", config, "peels", "list", "--columns", "id,addr")).toEqual(["id,address"]);
  await connection.nats.close();
});

test("an id that a shell could act on is not offered", async () => {
  const connection = await connectTo(bus, "master");
  const enrollments = await openBucket(connection, "enrollments");
  const record: Enrollment = {
    ...{ id: "enr-0ujtsYcgvSTl8PAuAdqWYSMnLOv", publicKey: "U", curvePublicKey: "X", state: "rejected" },
    ...{ peelId: "$(touch x)", createdAt: 0, updatedAt: 0 },
  };
  await enrollments.put(record.id, encodeRecord(record));
  const written: string[] = [];
  const machine = {
    env: {},
    stdout: { write: (text: string) => written.push(text) },
    clock: systemClock,
    random: systemRandom,
  };
  await offerIds(["peels", "", config], machine);
  await connection.nats.close();
  expect(written.join("")).toContain("web-1.example.com\t");
  expect(written.join("")).not.toContain("$(");
});

test("whatever goes wrong, nothing is offered and nothing said", async () => {
  const dir = bus.dir;
  writeFileAtomic(join(dir, "wrong.yaml"), "master: {urls: [7]}\n", secretMode);
  const nobody = join(dir, "nobody.yaml");
  writeFileAtomic(nobody, `master: {urls: ["tls://127.0.0.1:1"], creds_file: ${dir}/none}\n`, secretMode);
  for (const file of [join(dir, "none.yaml"), join(dir, "wrong.yaml"), nobody]) {
    expect(await offered("--config", file, "enroll", "approve", "")).toEqual([]);
  }
  expect(await runProgram([binaries.cli, "__ids"])).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("a bus that says nothing is given up after 2 s", async () => {
  // It accepts connections and does not respond, like a firewall or a hung server.
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  const text = `master: {urls: ["tls://127.0.0.1:${silent.port}"], creds_file: ${join(bus.authDir, "admin.creds")}, tls_ca: ${bus.caFile}}\n`;
  const file = join(bus.dir, "silent.yaml");
  writeFileAtomic(file, text, secretMode);
  const clock = manualClock();
  let exit: number | undefined;
  const written: string[] = [];
  const machine = {
    env: {},
    stdout: { write: (text: string) => written.push(text) },
    clock,
    random: systemRandom,
  };
  const done = offerIds(["members", "", file], machine).then((code) => {
    exit = code;
  });
  clock.advance(1_999);
  await settle();
  expect(exit).toBeUndefined();
  clock.advance(1);
  await done;
  expect([exit, written]).toEqual([0, []]);
  const before = systemClock.monotonic();
  expect(await offered("--config", file, "run", "")).toEqual([]);
  expect(systemClock.monotonic() - before).toBeLessThan(10_000);
  silent.stop(true);
});

/** The programs that release/install-shells.sh unpacked. */
const shells = join(import.meta.dir, "../../.tools/shells");
const searched = { PATH: `${join(binaries.cli, "..")}:/usr/bin:/bin`, TERM: "xterm" };

test("fish offers commands, peels, functions and their arguments", async () => {
  const lines: [line: string, offers: string[]][] = [
    ["svc roll", ["rollout"]],
    ["svc help job w", ["watch"]],
    ["svc job list --status c", ["cancelled", "completed"]],
    [`svc --config ${config} run w`, ["web-1.example.com"]],
    ["svc run web-1 file.get_h", ["file.get_hash"]],
    [`svc --config ${config} facts get web-1.example.com osr`, ["osrelease"]],
    ["svc peels list --columns id,addr", ["id,address"]],
    ["svc rollout start 'web-*' service.restart n", ["name="]],
    ["svc run web-1 state.single test=t", ["test=true"]],
  ];
  const requested = lines.map(([line]) => `complete -C "${line}"; echo ==`).join("; ");
  const { code, stdout, stderr } = await runProgram(
    [join(shells, "fish"), "-Nc", `svc completion fish | source; ${requested}`],
    { env: { ...searched, HOME: bus.dir } },
  );
  expect([code, stderr]).toEqual([0, ""]);
  const offers = stdout.split("==\n").map((part) => part.split("\n").map((line) => line.split("\t")[0]));
  for (const [at, [, words]] of lines.entries()) {
    expect(offers[at]?.filter((word) => word !== "")).toEqual(words);
  }
});

test("zsh completes the same at its prompt", async () => {
  const lines: [typed: string, completed: string][] = [
    ["svc rollo", "svc rollout"],
    ["svc help job wa", "svc help job watch"],
    [`svc --config ${config} run we`, "run web-1.example.com"],
    ["svc run web-1 file.get_h", "svc run web-1 file.get_hash"],
    [`svc --config ${config} facts get web-1.example.com osr`, "web-1.example.com osrelease"],
    ["svc peels list --columns id,addr", "svc peels list --columns id,address"],
    ["svc run web-1 service.restart n", "svc run web-1 service.restart name="],
    ["svc run web-1 state.single test=t", "svc run web-1 state.single test=true"],
    ["svc run web-1 state.single pkg.inst", "svc run web-1 state.single pkg.installed"],
  ];
  const setUp =
    "PS1='ready> '; autoload -Uz compinit; compinit -D; source <(svc completion zsh); stty cols 200; COLUMNS=200; echo set''-up";
  // Each line is typed, completed, waited for, and removed.
  const script = [
    "zmodload zsh/zpty",
    `zpty shell ${join(shells, "zsh")} -di`,
    `zpty -w shell ${JSON.stringify(setUp).replaceAll("$", "\\$")}`,
    "zpty -r -m shell out '*set-up*ready> *'",
    ...lines.flatMap(([typed, completed], at) => [
      `zpty -w -n shell ${JSON.stringify(typed)}$'\\t'`,
      `zpty -r -m shell out ${JSON.stringify(`*${completed}*`)}`,
      `print -r ${at}`,
      "zpty -w -n shell $'\\x15'",
    ]),
    "zpty -d shell",
  ];
  const { code, stdout, stderr } = await runProgram([join(shells, "zsh"), "-dc", script.join("\n")], {
    env: { ...searched, HOME: bus.dir },
  });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout.trim().split("\n")).toEqual(lines.map((_, at) => String(at)));
});
