import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { type Daemon, logRecords, type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { expectAnswer, fileHolds, startMember } from "../harness/jobs.ts";
import { runProgram } from "../harness/process.ts";

// One request, followed by its id through the logs of the compiled binaries, as an operator would with grep.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: MasterDaemon;
let peel: Daemon;
beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus);
  peel = await startMember(bus, master, "web-1");
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** The events with this request id, and the jobs they name. */
const under = ({ program }: Daemon, requestId: string) =>
  logRecords(program)
    .filter(({ request_id }) => request_id === requestId)
    .map(({ msg, jid }) => [msg, jid]);

function post(path: string, requestId: string, body: unknown = {}) {
  return send(master.url, bus.caPem, {
    method: "POST",
    path,
    headers: {
      authorization: `Bearer ${master.token}`,
      "content-type": "application/json",
      "x-request-id": requestId,
    },
    body: JSON.stringify(body),
    from: freshAddress(),
  });
}

/** A master logs a request after it has answered it: wait for that record before the log is read. */
const logged = (msg: string, requestId: string) =>
  master.program.waitFor(
    new RegExp(`"request_id":"${requestId}".*"${msg}"|"${msg}".*"request_id":"${requestId}"`),
  );
const doneOn = (jid: string) => peel.program.waitFor(new RegExp(`"job done".*"${jid}"`));
const shown = async (jid: string) =>
  JSON.parse((await svc(bus, "job", "show", jid, "--output", "json")).stdout);

test("a job over REST, in the logs of master and peel, in its record, and on the command line", async () => {
  const reply = await post("/api/v1/jobs", "ticket-4711", { target: "web-1", function: "test.ping" });
  expect(reply.headers["x-request-id"]).toBe("ticket-4711");
  const { jid } = await expectAnswer<{ jid: string }>(Promise.resolve(reply), 202);
  await logged("http.request.complete", "ticket-4711");
  await doneOn(jid);
  expect(under(master, "ticket-4711")).toEqual([
    ["job dispatched", jid],
    ["http.request.complete", jid],
  ]);
  expect(under(peel, "ticket-4711")).toEqual([
    ["job taken", jid],
    ["job done", jid],
  ]);
  const path = `/api/v1/jobs/${jid}`;
  const headers = { authorization: `Bearer ${master.token}` };
  const job = send(master.url, bus.caPem, { path, headers, from: freshAddress() });
  expect(await expectAnswer<object>(job)).toMatchObject({ request_id: "ticket-4711" });
  expect((await svc(bus, "job", "show", jid)).stdout).toMatch(/^Request +ticket-4711$/m);
});

test("the commands of docs/logs.md find it, in files of either log", async () => {
  const reply = await post("/api/v1/jobs", "ticket-4712", { target: "web-1", function: "test.ping" });
  const { jid } = await expectAnswer<{ jid: string }>(Promise.resolve(reply), 202);
  await logged("http.request.complete", "ticket-4712");
  await doneOn(jid);
  writeFileSync(join(bus.dir, "master.log"), master.program.output());
  writeFileSync(join(bus.dir, "peel.log"), peel.program.output());
  const page = readFileSync(join(import.meta.dir, "../../docs/logs.md"), "utf8");
  const script = (/```sh host\n(grep [^`]+)```/.exec(page)?.[1] ?? "")
    .replaceAll("ticket-4711", "ticket-4712")
    .replaceAll(/job-\w{27}/g, jid);
  const [first = "", second = ""] = script.trim().split("\n");
  const found = async (command: string) => {
    const { stdout } = await runProgram(["sh", "-c", command], { cwd: bus.dir });
    return stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
  };
  const expected = ["job dispatched", "http.request.complete", "job taken", "job done"];
  expect(await found(first)).toEqual(expected);
  expect(await found(second)).toEqual(expected);
});

test("a job of svc run has an id that svc made", async () => {
  const { code, stderr } = await svc(bus, "run", "web-1", "test.ping");
  expect(code).toBe(0);
  const jid = /job-\w{27}/.exec(stderr)?.[0] ?? "";
  await doneOn(jid);
  const { request_id } = await shown(jid);
  expect(request_id).toMatch(/^[0-9a-f-]{36}$/);
  await logged("bus request complete", request_id);
  expect(under(master, request_id)).toEqual([
    ["job dispatched", jid],
    ["bus request complete", undefined],
  ]);
  expect(under(peel, request_id)).toEqual([
    ["job taken", jid],
    ["job done", jid],
  ]);
});

test("a cancellation has an id of its own, which the peel is told as well", async () => {
  const began = join(bus.dir, "began");
  const args = { command: `echo x > ${began}; sleep 60` };
  const made = post("/api/v1/jobs", "start-it", { target: "web-1", function: "cmd.run", args });
  const { jid } = await expectAnswer<{ jid: string }>(made, 202);
  await fileHolds(began, /x/);
  await expectAnswer(post(`/api/v1/jobs/${jid}/cancel`, "stop-it"));
  await logged("http.request.complete", "stop-it");
  await doneOn(jid);
  expect(under(master, "stop-it")).toEqual([
    ["job cancelled", jid],
    ["http.request.complete", jid],
  ]);
  expect(under(peel, "stop-it")).toEqual([["job cancelled while it ran or waited", jid]]);
  expect(under(peel, "start-it")).toEqual([
    ["job taken", jid],
    ["job done", jid],
  ]);
  expect(await shown(jid)).toMatchObject({ request_id: "start-it", cancel_request_id: "stop-it" });
});

test("what a master refuses is said with the id under which it logged it", async () => {
  const refusals: [args: string[], reason: string][] = [
    [["run", "nobody-*", "test.ping"], "no peel matches the target"],
    [["job", "cancel", "job-3MPFSICSuHM6n9ASVzK0s68GQu3"], "the job does not exist"],
    [["enroll", "approve", "enr-3MPFSICSuHM6n9ASVzK0s68GQu3"], "the enrollment does not exist"],
    [["run", "G@", "test.ping", "--preview"], "expected fact:glob"],
  ];
  for (const [args, reason] of refusals) {
    const { code, stderr } = await svc(bus, ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
    const id = /\[request ([0-9a-f-]{36})\]\n$/.exec(stderr)?.[1] ?? "";
    await logged("bus request refused", id);
    const refused = logRecords(master.program).filter(({ request_id }) => request_id === id);
    expect(refused).toMatchObject([
      { msg: "operation refused", door: "bus", reason: expect.stringContaining(reason) },
      { msg: "bus request refused", reason: expect.stringContaining(reason) },
    ]);
  }
});
