import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/bucket.ts";
import type { Bus } from "../../internal/bus/connect.ts";
import { eventSubject, scheduleSubject } from "../../internal/bus/subjects.ts";
import { decodeJob } from "../../internal/fleet/jobs/record.ts";
import { openJobIdOf } from "../../internal/fleet/reactor/action-id.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { metricBecomes } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { holderBecomes, rulesDirectory, sendEvent } from "../harness/reactor.ts";
import { startMasterProcess } from "../harness/reactor-process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// A peel, its credentials in the hands of somebody else, against the reactions of the others.

setDefaultTimeout(30_000);

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
    await nats.request(scheduleSubject(jid, "hostile"), encode(result), { timeout: 5_000 });
  }
  await metricBecomes(master.healthUrl, 'svc_schedule_results_total\\{result="stored"\\}', taken.length);
  const sent = encode({ data: { n: "1" }, id: "mine" });
  await nats.request(eventSubject("hostile", "broken.now"), sent, { timeout: 5_000 });
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
