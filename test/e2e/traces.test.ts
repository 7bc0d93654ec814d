import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StepResult } from "../../internal/program/diagnosis/step.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import {
  binaries,
  type Daemon,
  logRecords,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";
import { operatorConfig } from "../harness/svc.ts";
import { type ReceivedSpan, startTraceReceiver, type TraceReceiver } from "../harness/trace-receiver.ts";
import { until } from "../harness/until.ts";

// One request through the compiled master and peel, as a receiver of OTLP sees it.

setDefaultTimeout(60_000);

let bus: TestBus;
let receiver: TraceReceiver;
let master: MasterDaemon;
let peel: Daemon;
let headersFile: string;
const secret = "the-value-of-an-argument";

beforeAll(async () => {
  bus = await startBus();
  const pem = (name: string) => readFileSync(join(bus.dir, name), "utf8");
  receiver = startTraceReceiver({ cert: pem("nats-server.crt"), key: pem("nats-server.key") });
  const headers = join(bus.dir, "otlp-headers");
  headersFile = headers;
  writeFileSync(headers, "Authorization: Bearer of-the-receiver\n", { mode: 0o600 });
  const flags = ["--otlp-endpoint", receiver.url, "--otlp-ca", bus.caFile, "--otlp-headers-file", headers];
  const rules = join(bus.dir, "reactor");
  mkdirSync(rules);
  const rule = `{name: ping, match: site/told, do: [{job: {target: "\${source}", function: test.true}}]}`;
  writeFileSync(join(rules, "ping.yaml"), `rules: [${rule}]\n`);
  master = await startMasterBinary(bus, [...flags, "--reactor-dir", rules]);
  const config =
    "schedule: {daily: {module: test.false, interval: 24h, run_on_start: true, return_job: true}}\n";
  peel = startPeelBinary(bus, master.url, "web-1.example", { flags, config });
  await peel.program.waitFor("enrollment pending");
  expect((await svc(bus, "enroll", "approve", "--all", "--yes")).code).toBe(0);
  await peel.program.waitFor("peel connected");
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const trace = "0af7651916cd43dd8448eb211c80319c";
const outside = "b7ad6b7169203331";
const rest = (path: string, more: { body?: unknown; headers?: Record<string, string>; token?: string }) => {
  const { body, headers = {}, token = master.token } = more;
  return call(
    { url: master.url, ca: bus.caPem },
    {
      ...{
        path: `/api/v1/${path}`,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    },
  );
};
/** The names on the way from a span to the outside. */
const wayOf = (spans: readonly ReceivedSpan[], { name, parent }: ReceivedSpan): string[] => {
  const above = spans.find(({ id }) => id === parent);
  return [name, ...(above === undefined ? [parent] : wayOf(spans, above))];
};

test("a request over REST is one trace through master and peel, and no argument is in it", async () => {
  const traceparent = `00-${trace}-${outside}-01`;
  const body = { target: "*", function: "test.echo", args: { text: secret } };
  const created = await rest("jobs", { body, headers: { traceparent } });
  expect(created.status).toBe(202);
  const { jid } = created.json as { jid: string };
  const spans = await receiver.trace(trace, 5);
  const named = (name: string) => spans.filter((span) => span.name === name);
  const way = ["dispatch test.echo", "jobs.create", "POST /api/v1/jobs", outside];
  const [run, ...more] = named("run test.echo");
  if (run === undefined) throw new Error("the peel sent no span");
  expect(more).toEqual([]);
  expect(wayOf(spans, run)).toEqual(["run test.echo", ...way]);
  expect(run).toMatchObject({ service: "svc-peel", failed: false });
  const about = { "svc.jid": jid, "svc.peel": "web-1_example", "svc.outcome": "ok" };
  expect(run.attributes).toMatchObject({ ...about, "svc.function": "test.echo" });
  const [returned] = named("return");
  expect(returned).toMatchObject({ service: "svc-master", attributes: about });
  expect(wayOf(spans, returned as ReceivedSpan)).toEqual(["return", ...way]);
  expect(named("POST /api/v1/jobs")[0]?.attributes).toMatchObject({
    "http.route": "/api/v1/jobs",
    "http.response.status_code": 202,
  });
  const everything = JSON.stringify(receiver.spans);
  for (const hidden of [secret, master.token, "of-the-receiver"]) expect(everything).not.toContain(hidden);
  expect(receiver.headers?.get("authorization")).toBe("Bearer of-the-receiver");
});

test("svc continues the trace of its environment, and a refusal is a failed span", async () => {
  const words = ["--config", operatorConfig(bus), "run", "web-*", "test.ping"];
  const variable = `TRACEPARENT=00-${"a".repeat(32)}-${outside}-01`;
  const ran = await runProgram(["env", variable, binaries.cli, ...words]);
  expect(ran.code).toBe(0);
  const refused = await rest("jobs", {
    body: { target: "none*", function: "test.ping" },
    headers: { traceparent: `00-${"b".repeat(32)}-${outside}-01` },
  });
  expect(refused.status).toBe(404);
  // Master and peel send at their own times.
  const way = await until(
    () => {
      const spans = receiver.spans.filter((span) => span.trace === "a".repeat(32));
      const run = spans.find(({ name }) => name === "run test.ping");
      return run === undefined ? [] : wayOf(spans, run);
    },
    (found) => found.at(-1) === outside,
  );
  expect(way).toEqual([
    ...["run test.ping", "dispatch test.ping", "jobs.create", "request svc.job.request", outside],
  ]);
  const failed = await receiver.trace("b".repeat(32), 2);
  expect(failed.find(({ name }) => name === "jobs.create")).toMatchObject({
    failed: true,
    attributes: { "error.type": "not_found" },
  });
});

describe("svc with a receiver of its own", () => {
  /** A configuration of svc with these keys of traces. */
  const traced = (name: string, otlp: Record<string, string>) => {
    const path = join(bus.dir, name);
    const given = { ca: bus.caFile, headers_file: headersFile, ...otlp };
    writeFileSync(path, `${readFileSync(operatorConfig(bus), "utf8")}otlp: ${JSON.stringify(given)}\n`);
    return path;
  };
  const run = (config: string, words: readonly string[], variables: readonly string[] = []) =>
    runProgram(["env", ...variables, binaries.cli, "--config", config, ...words]);
  const rootsOf = (name: string) =>
    receiver.spans.filter((span) => span.service === "svc" && span.name === name);

  test("begins a trace with the command, and no argument is in it", async () => {
    const config = traced("traced.yaml", { endpoint: receiver.url });
    expect((await run(config, ["run", "web-*", "test.echo", secret])).code).toBe(0);
    // It was sent when the command ended.
    const [root, ...more] = rootsOf("svc run");
    if (root === undefined) throw new Error("svc sent no span");
    expect(more).toEqual([]);
    expect(root).toMatchObject({ parent: "", failed: false, attributes: { "svc.exit_code": 0 } });
    const way = await until(
      () => {
        const spans = receiver.spans.filter((span) => span.trace === root.trace);
        const last = spans.find(({ name }) => name === "run test.echo");
        return last === undefined ? [] : wayOf(spans, last).filter(Boolean);
      },
      // The master may send its spans after the peel.
      (found) => found.at(-1) === "svc run",
    );
    const requested = ["request svc.job.request", "ask svc.job.request", "svc run"];
    expect(way).toEqual(["run test.echo", "dispatch test.echo", "jobs.create", ...requested]);
    const requests = receiver.spans.filter(
      ({ trace, name }) => trace === root.trace && name.startsWith("ask "),
    );
    expect(
      requests.every(({ service, kind, parent }) => service === "svc" && kind === 3 && parent === root.id),
    ).toBe(true);
    expect(JSON.stringify(receiver.spans)).not.toContain(secret);
    expect(receiver.headers?.get("authorization")).toBe("Bearer of-the-receiver");
  });

  test("continues the trace of its environment, and keeps what that keeps", async () => {
    const config = traced("traced.yaml", { endpoint: receiver.url });
    const outer = (digit: string, flags: string) => [
      `TRACEPARENT=00-${digit.repeat(32)}-${outside}-${flags}`,
    ];
    expect((await run(config, ["peels", "list"], outer("e", "01"))).code).toBe(0);
    expect((await run(config, ["peels", "list"], outer("f", "00"))).code).toBe(0);
    expect(rootsOf("svc peels list").map(({ trace, parent }) => [trace, parent])).toEqual([
      ["e".repeat(32), outside],
    ]);
  });

  test("a command that fails is a failed span, and one that asks nobody is none", async () => {
    const config = traced("traced.yaml", { endpoint: receiver.url });
    expect((await run(config, ["job", "show", "job-none"])).code).toBe(1);
    const [root] = rootsOf("svc job show");
    expect(root).toMatchObject({
      failed: true,
      attributes: { "svc.exit_code": 1, "error.type": "not_found" },
    });
    expect((await run(config, ["version"])).code).toBe(0);
    expect(rootsOf("svc version")).toEqual([]);
  });

  test.each([
    ["away", { endpoint: "http://127.0.0.1:9" }, /traces are not taken/],
    [
      "without its headers",
      { headers_file: "/none" },
      /^svc: no trace is sent: cannot read otlp.headers_file \/none/,
    ],
  ])("a receiver that is %s is told, and changes nothing of the command", async (name, otlp, reported) => {
    const config = traced(`${name}.yaml`, { endpoint: receiver.url, ...otlp });
    const ran = await run(config, ["peels", "list", "--output", "csv"]);
    expect(ran.stdout).toContain("web-1.example");
    expect([ran.code, ran.stderr.trim().split("\n")]).toEqual([0, [expect.stringMatching(reported)]]);
  });

  test("svc doctor says whether the receiver takes traces", async () => {
    const said = async (name: string, otlp: Record<string, string>) => {
      const config = traced(`doctor-${name}.yaml`, { endpoint: receiver.url, ...otlp });
      const { stdout } = await run(config, ["doctor", "--output", "json"]);
      return (JSON.parse(stdout) as StepResult[]).find(({ step }) => step === "traces");
    };
    expect(await said("taken", {})).toMatchObject({ level: "ok", message: `${receiver.url} takes them` });
    expect(await said("away", { endpoint: "http://127.0.0.1:9" })).toMatchObject({
      level: "warn",
      message: expect.stringContaining("http://127.0.0.1:9/v1/traces: "),
      next: expect.stringContaining("correct otlp.endpoint"),
    });
    expect(await said("headers", { headers_file: "/none" })).toMatchObject({
      level: "fail",
      message: expect.stringContaining("cannot read otlp.headers_file /none"),
    });
  });
});

test("a reaction, a wave of a rollout, and a run of a schedule are traces of their own", async () => {
  expect((await svc(bus, "run", "web-1.example", "event.send", "site/told")).code).toBe(0);
  const rollout = await svc(bus, "rollout", "start", "web-1.example", "test.sleep", "0s");
  expect(rollout.code).toBe(0);
  /** The names from the root of a trace to a span of the peel, and to the return of it. */
  const waysTo = (name: string) => {
    const ends = receiver.spans.filter((span) => span.name === name);
    const trace = ends.find((end) =>
      receiver.spans.some((one) => one.trace === end.trace && one.name === "return"),
    );
    if (trace === undefined) return [];
    const spans = receiver.spans.filter((span) => span.trace === trace.trace);
    return spans
      .filter((span) => [name, "return"].includes(span.name))
      .map((span) => wayOf(spans, span).filter(Boolean));
  };
  const reaction = ["dispatch test.true", "jobs.create", "react job"];
  const wave = ["dispatch test.sleep", "rollout wave"];
  for (const [name, way] of [
    ["run test.true", reaction],
    ["run test.sleep", wave],
  ] as const) {
    const ways = await until(
      () => waysTo(name),
      (found) => found.length === 2,
    );
    expect(ways.sort()).toEqual([
      ["return", ...way],
      [name, ...way],
    ]);
  }
  const ways = await until(
    () => waysTo("run test.false"),
    (found) => found.length === 2,
  );
  expect(ways.sort()).toEqual([["return", "run test.false"], ["run test.false"]]);
  const [run] = receiver.spans.filter(({ name }) => name === "run test.false");
  expect(run).toMatchObject({ service: "svc-peel", failed: false, attributes: { "svc.outcome": "ok" } });
  expect(receiver.spans.find(({ name }) => name === "react job")?.attributes).toMatchObject({
    "svc.rule": "ping",
  });
  expect(receiver.spans.find(({ name }) => name === "rollout wave")?.attributes).toMatchObject({
    "svc.rollout": expect.stringMatching(/^rol-/),
    "svc.wave": "1/1",
  });
});

test("a client without a token records nothing, and a malformed header begins another trace", async () => {
  const before = receiver.spans.length;
  const unknown = await rest("peels", {
    token: "wrong",
    headers: { traceparent: `00-${"c".repeat(32)}-${outside}-01` },
  });
  expect(unknown.status).toBe(401);
  await rest("peels", { headers: { traceparent: `00-${"d".repeat(32)}` } });
  const spans = await until(
    () => receiver.spans.slice(before),
    (found) => found.some(({ name }) => name === "GET /api/v1/peels"),
  );
  expect(spans.filter(({ trace: one }) => /^[cd]+$/.test(one))).toEqual([]);
});

test("a receiver that is off slows nothing down, is logged once, and counted", async () => {
  receiver.status = 503;
  const ran = await svc(bus, "run", "web-*", "test.ping");
  expect(ran.code).toBe(0);
  receiver.status = 400;
  const scrape = async () => (await fetch(`${master.healthUrl}/metrics`)).text();
  await until(scrape, (text) => /svc_spans_total\{result="failed"\} [1-9]/.test(text));
  await master.program.waitFor("traces are not taken");
  expect(logRecords(master.program).filter(({ msg }) => msg === "traces are not taken")).toHaveLength(1);
});
