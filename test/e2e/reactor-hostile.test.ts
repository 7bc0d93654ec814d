import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory } from "../../internal/base/files/file.ts";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { eventSubject, scheduleSubject } from "../../internal/bus/subjects/subjects.ts";
import { decodeJob } from "../../internal/fleet/jobs/records/record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { metricBecomes } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { openJobIdOf } from "../harness/open-job-id.ts";
import { startPeel } from "../harness/peel.ts";
import { enrollPeel, operate } from "../harness/peel-connection.ts";
import { holderBecomes, reactorBecomes, rulesDirectory, sendEvent } from "../harness/reactor.ts";
import { startMasterProcess } from "../harness/reactor-process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// A peel, its credentials in the hands of somebody else, against the reactions of the others.

setDefaultTimeout(60_000);

const rules = `
rules:
  - name: mend
    match: broken/now
    do:
      - job: { target: web1, function: test.echo, args: { text: "\${data.n}" } }
`;

const directory = rulesDirectory(rules);
let bus: TestBus;
let master: TestMaster;
let fleet: Bus;
let web: ManualPeel;
let hostile: ManualPeel;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus, { config: directory.config({ source_rate_limit: 0 }) });
  fleet = await connectTo(bus, "master");
  web = await connectManualPeel(bus, await enrollPeel(master, "web1"));
  hostile = await connectManualPeel(bus, await enrollPeel(master, "hostile"));
  await holderBecomes(fleet);
});
afterAll(async () => {
  await hostile?.[Symbol.asyncDispose]();
  await web?.[Symbol.asyncDispose]();
  await fleet?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

test("a peel cannot take the id of the job that its event leads to, and the reaction runs", async () => {
  const { nats } = hostile.connection;
  const result = {
    ...{ success: true, retcode: 0, return: "x", started_at: "2026-01-01T00:00:00.000Z", duration_ms: 1 },
    ...{ schedule: "s", function: "test.ping", args: {} },
  };
  const event = { id: "peel:hostile:mine", at: 0 };
  // The id holds the second in which the bus will have stored the event: it takes those to come.
  const seconds = Array.from({ length: 20 }, (_, ahead) => systemClock.now() + ahead * 1_000);
  const taken = seconds.map((at) => openJobIdOf({ event: { ...event, at }, rule: "mend", index: 0 }));
  for (const jid of taken) {
    await nats.request(scheduleSubject(jid, "hostile"), encode(result), { timeout: 30_000 });
  }
  await metricBecomes(master.healthUrl, 'svc_schedule_results_total\\{result="stored"\\}', taken.length);
  const sent = encode({ data: { n: "1" }, id: "mine" });
  await nats.request(eventSubject("hostile", "broken.now"), sent, { timeout: 30_000 });
  const done = 'svc_reactor_actions_total\\{action="job",result="ok"\\}';
  await metricBecomes(master.healthUrl, done, 1);
  const jobs = await openBucket(fleet, "jobs");
  const made = (await jobs.entries())
    .map(({ value }) => decodeJob(value))
    .filter(({ createdBy }) => createdBy === "reactor:mend");
  expect(made).toMatchObject([{ args: { text: "1" }, targets: ["web1"] }]);
  const command = await web.next("dispatch");
  expect(command.jid).toBe(made[0]?.jid ?? "");
  expect(taken).not.toContain(command.jid);
});

/** A certificate for localhost that vouches for itself, and its key. */
function selfSigned(directory: string, name: string): { certPem: string; keyPem: string } {
  const [cert, key] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)];
  const made = Bun.spawnSync([
    ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
    ...["-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"],
    ...["-addext", "subjectAltName=DNS:localhost"],
  ]);
  expect(made.exitCode).toBe(0);
  return { certPem: readFileSync(cert, "utf8"), keyPem: readFileSync(key, "utf8") };
}

test("a webhook gets no token over TLS that is not verified, whatever the environment says", async () => {
  using files = temporaryDirectory("hook");
  const calls: { host: string | null; token: string | null }[] = [];
  // The same name and address, with a certificate that the master trusts and one that it does not.
  const [trusted, other] = [selfSigned(files.path, "trusted"), selfSigned(files.path, "other")];
  const listen = ({ certPem, keyPem }: { certPem: string; keyPem: string }) =>
    Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: { cert: certPem, key: keyPem },
      fetch({ headers }) {
        calls.push({ host: headers.get("host"), token: headers.get("authorization") });
        return new Response();
      },
    });
  const [good, bad] = [listen(trusted), listen(other)];
  const tokenFile = join(files.path, "token");
  const caFile = join(files.path, "ca.crt");
  writeFileSync(tokenFile, "hook-token\n");
  writeFileSync(caFile, trusted.certPem);
  using hooks = rulesDirectory(`
rules:
${[good.port, bad.port].map((port, at) => `  - { name: call-${at}, match: call/${at}, do: [webhook: { url: "https://localhost:${port}/", token_file: ${tokenFile} }] }`).join("\n")}
  - { name: call-2, match: call/2, do: [webhook: { url: "https://127.0.0.2:${good.port}/", token_file: ${tokenFile} }] }
`);
  await using own = await startBus();
  await using process = await startMasterProcess(own, hooks.config({ webhook_allow: ["127.0.0.1"] }), {
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    NODE_EXTRA_CA_CERTS: caFile,
  });
  const connection = await connectTo(own, "master");
  try {
    await holderBecomes(connection);
    const action = (result: string) => `svc_reactor_actions_total\\{action="webhook",result="${result}"\\}`;
    for (const at of [0, 1, 2]) await sendEvent(connection, "web1", `call/${at}`);
    await metricBecomes(process.healthUrl, action("ok"), 1);
    await metricBecomes(process.healthUrl, action("failed"), 2);
    expect(calls).toEqual([{ host: `localhost:${good.port}`, token: "Bearer hook-token" }]);
    const output = process.program.output();
    expect(output).toMatch(/self.signed/i);
    expect(output).toContain("127.0.0.2 is a loopback address");
  } finally {
    await connection.nats.close();
    await Promise.all([good.stop(true), bad.stop(true)]);
  }
});

test("an event runs nothing in a rule of yesterday, which is named; other rules have it as data", async () => {
  using files = temporaryDirectory("events");
  const [owned, note] = [join(files.path, "owned"), join(files.path, "note")];
  const job = (args: string, more = "") =>
    `match: note/new${more}, do: [job: { target: db1, function: cmd.run, args: { ${args} } }]`;
  using own = rulesDirectory(`rules:
  - { name: by-sed, ${job(`argv: [sed, -n, "\${data.script}", /etc/passwd]`)} }
  - { name: by-tar, ${job(`argv: [tar, cf, /dev/null, "--checkpoint-action=exec=\${data.command}", --checkpoint=1, /etc/passwd]`)} }
  - { name: by-rsync, ${job(`argv: [rsync, --rsh, "\${data.command}", /etc/passwd, "x:y"]`)} }
  - { name: by-docker, ${job(`argv: [docker, exec, web, --, "\${data.command}"]`)} }
  - { name: by-env, ${job(`command: 'printf "%s" "$EVENT_TEXT" > ${note}', env: { EVENT_TEXT: "\${data.command}" }`)} }
  - { name: by-stdin, ${job(`argv: [tee, ${note}-stdin], stdin: "\${data.command}"`)} }
  - { name: trusted, ${job(`command: 'echo \${data.number} > ${note}-unsafe'`, ", unsafe: true")} }
`);
  await using fresh = await startBus();
  await using only = await startMaster(fresh, { config: own.config() });
  const dataDir = join(fresh.dir, "db1");
  makeDirectory(dataDir, 0o700);
  await using peel = startPeel(dataDir, [
    ...["--id", "db1", "--bus-url", fresh.url, "--bus-ca", fresh.caFile],
    ...["--master-url", only.url, "--enroll-ca", fresh.caFile],
  ]);
  const pending = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  await operate(only, String(pending.fields.enrollment_id), "approve");
  await peel.ready;
  await using other = await connectManualPeel(fresh, await enrollPeel(only, "hostile"));
  const connection = await connectTo(fresh, "master");
  try {
    await holderBecomes(connection);
    const { message = "" } = await reactorBecomes(only, "degraded");
    const place = (line: number, name: string) => `${own.path}/rules.yaml:${line}: rule ${name}: `;
    expect(message).toStartWith(`4 rules refused: ${place(2, "by-sed")}`);
    expect(message).toContain("on stdin or in a variable EVENT_*, or set unsafe: true in the rule");
    await metricBecomes(only.healthUrl, "svc_reactor_rules_failed", 1);
    await metricBecomes(only.healthUrl, "svc_reactor_rules", 3);
    const command = `touch ${owned}`;
    await sendEvent(other.connection, "hostile", "note/new", { script: `1e ${command}`, command, number: 7 });
    await metricBecomes(only.healthUrl, 'svc_reactor_actions_total\\{action="job",result="ok"\\}', 3);
    // It waits in the queue of the peel, behind the jobs of the rules.
    expect((await cli(fresh, "run", "db1", "test.true")).exit).toBe(0);
    const texts = ["", "-stdin", "-unsafe"].map((end) => readFileSync(`${note}${end}`, "utf8"));
    expect(texts).toEqual([command, command, "7\n"]);
    expect(existsSync(owned)).toBe(false);
    const shown = await cli(fresh, "reactor", "rules");
    expect(shown.stdout).toContain("trusted (unsafe)");
    expect(shown.stderr).toContain(`4 rules refused: ${place(2, "by-sed")}`);
    const linted = await cli(fresh, "reactor", "lint", own.path, "--output", "json");
    expect(linted.exit).toBe(1);
    const { problems } = JSON.parse(linted.stdout) as { problems: string[] };
    expect(problems.map((line) => /^rules\.yaml:\d+: rule ([\w-]+): /.exec(line)?.[1])).toEqual([
      ...["by-sed", "by-tar", "by-rsync", "by-docker", "trusted"],
    ]);
    expect((await cli(fresh, "reactor", "lint", directory.path)).exit).toBe(0);
  } finally {
    await connection.nats.close();
  }
});
