import { afterAll, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { startTraceReceiver } from "../../../test/harness/trace-receiver.ts";
import { until } from "../../../test/harness/until.ts";
import { systemClock } from "../../base/clock.ts";
import type { TracingConfig } from "./start.ts";
import { startTracing } from "./start.ts";

const dir = temporaryDirectory("tracing");
afterAll(() => dir[Symbol.dispose]());

const start = (config: Partial<TracingConfig>, log = recordingLog()) =>
  startTracing({
    config: { "otlp.endpoint": "", "otlp.headers_file": "", "otlp.ca": "", "otlp.sample": 1, ...config },
    ...{ service: "svc-master", instance: "master-1", clock: systemClock, log },
  });
const fileWith = (name: string, text: string, mode = 0o600) => {
  const path = join(dir.path, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};
const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test("spans arrive with their parents, their times and how they ended", async () => {
  await using receiver = startTraceReceiver();
  const headers = fileWith("headers", "# a token\nAuthorization: Bearer s3cret\n\nX-Tenant: lab\n");
  const { tracer, spans, stop } = await start({
    "otlp.endpoint": receiver.url,
    "otlp.headers_file": headers,
  });
  const startedAt = systemClock.now() - 5_000;
  const door = tracer.begin("door", { kind: "server", parent, startedAt });
  const inner = door.begin("inner", { attributes: { "svc.jid": "job-1", "svc.targets": 3 } });
  inner.end("not_found");
  door.end();
  await stop();
  const [first, second] = receiver.spans;
  const trace = parent.split("-")[1];
  expect(first).toMatchObject({
    ...{ service: "svc-master", trace, parent: second?.id, name: "inner", kind: 1, failed: true },
    attributes: { "svc.jid": "job-1", "svc.targets": 3, "error.type": "not_found" },
  });
  expect(second).toMatchObject({ trace, parent: parent.split("-")[2], name: "door", kind: 2, failed: false });
  expect(second?.ms).toBeGreaterThanOrEqual(5_000);
  expect(door.traceparent).toBe(`00-${trace}-${second?.id}-01`);
  expect(receiver.headers?.get("authorization")).toBe("Bearer s3cret");
  expect(receiver.headers?.get("x-tenant")).toBe("lab");
  expect(spans()).toEqual({ sent: 2, dropped: 0, failed: 0 });
});

test("variables of other exporters are not used, and stay as they are", async () => {
  await using receiver = startTraceReceiver();
  const theirs = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    OTEL_EXPORTER_OTLP_HEADERS: "x-theirs=s3cret",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-more=s3cret",
  };
  Object.assign(process.env, theirs);
  try {
    const { tracer, stop } = await start({ "otlp.endpoint": receiver.url });
    expect(process.env).toMatchObject(theirs);
    tracer.begin("own").end();
    await stop();
  } finally {
    for (const name of Object.keys(theirs)) delete process.env[name];
  }
  expect(receiver.spans.map(({ name }) => name)).toEqual(["own"]);
  expect([receiver.headers?.get("x-theirs"), receiver.headers?.get("x-more")]).toEqual([null, null]);
});

test("a trace that others do not keep is not kept, and of those that begin here the sample", async () => {
  await using receiver = startTraceReceiver();
  const { tracer, stop } = await start({ "otlp.endpoint": receiver.url, "otlp.sample": 0 });
  const away = tracer.begin("own");
  expect(away.traceparent).toMatch(/-00$/);
  away.end();
  tracer.begin("not kept", { parent: parent.replace(/1$/, "0") }).end();
  tracer.begin("kept", { parent }).end();
  await stop();
  expect(receiver.spans.map(({ name }) => name)).toEqual(["kept"]);
});

test("a receiver that fails loses spans, and neither time nor lines of the log", async () => {
  await using receiver = startTraceReceiver();
  receiver.status = 400;
  const log = recordingLog();
  const { tracer, spans, stop } = await start({ "otlp.endpoint": receiver.url }, log);
  for (let at = 0; at < 5_000; at++) tracer.begin("a").end();
  expect(spans().dropped).toBe(5_000 - 2_048);
  await until(spans, ({ failed }) => failed === 2_048);
  receiver.status = 200;
  tracer.begin("b").end();
  await until(spans, ({ sent }) => sent === 1);
  await stop();
  expect(log.records.map(({ event }) => event)).toEqual(["traces are not taken", "traces are taken again"]);
});

test.each([
  ["a file that is missing", { "otlp.headers_file": "/none" }, /cannot read otlp\.headers_file \/none/],
  [
    "headers that others can read",
    { "otlp.headers_file": fileWith("open", "a: b\n", 0o644) },
    /set its mode to 0600/,
  ],
  [
    "a line that is not a header",
    { "otlp.headers_file": fileWith("bad", "a: b\ns3cret\n") },
    /bad:2: expected a header/,
  ],
  ["a CA that is not one", { "otlp.ca": fileWith("ca", "s3cret") }, /has no certificate in PEM/],
])("%s is reported at the start, without its content", async (_, config, message) => {
  const started = start({ "otlp.endpoint": "http://127.0.0.1:1", ...config }).then(String, String);
  expect(await started).toMatch(message);
  expect(await started).not.toContain("s3cret");
});
