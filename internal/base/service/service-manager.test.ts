import { expect, test } from "bun:test";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { openDatagramSocket } from "../../../test/harness/datagram-socket.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { takeServiceManager } from "./service-manager.ts";

const fail = (reason = "not sent") => {
  throw new Error(reason);
};
const options = { clock: manualClock(), onFailure: () => fail(), onProblem: fail };

test.each(["a path", "an abstract name"])("a service manager on %s is notified", (kind) => {
  using files = temporaryDirectory("notify");
  const address = kind === "a path" ? join(files.path, "notify") : `@svc-test-${process.pid}`;
  using socket = openDatagramSocket(address);
  const service = takeServiceManager({ NOTIFY_SOCKET: address }, options);
  expect(service.listens).toBe(true);
  service.status("waiting\nfor the bus");
  service.ready("serving");
  service.stopping();
  expect(socket.receive()).toBe("STATUS=waiting for the bus");
  expect(socket.receive()).toBe("READY=1\nSTATUS=serving");
  expect(socket.receive()).toBe("STOPPING=1\nSTATUS=stopping");
});

test("the address leaves the environment", () => {
  const env = { NOTIFY_SOCKET: "/nowhere", WATCHDOG_USEC: "1", WATCHDOG_PID: "1", PATH: "/bin" };
  takeServiceManager(env, options);
  expect(env).toEqual({ PATH: "/bin" } as typeof env);
});

test.each([{}, { NOTIFY_SOCKET: "" }])("without a service manager nothing happens: %j", (env) => {
  const service = takeServiceManager(env, options);
  expect(service.listens).toBe(false);
  service.ready("serving");
});

test.each([
  ["nobody listens", "/nowhere/notify"],
  ["it has another kind", "vsock:2:1234"],
  ["it is longer than the system takes", `/${"a".repeat(108)}`],
])("an address is reported, and no more, when %s", (_, address) => {
  let failures = 0;
  takeServiceManager({ NOTIFY_SOCKET: address }, { ...options, onFailure: () => failures++ }).ready(
    "serving",
  );
  expect(failures).toBe(1);
});

test("a watchdog is notified three times in its time, from the start of the service on, and while all is well", () => {
  using files = temporaryDirectory("watchdog");
  const address = join(files.path, "notify");
  using socket = openDatagramSocket(address);
  const clock = manualClock();
  const said: string[] = [];
  let problem: string | undefined;
  const env = { NOTIFY_SOCKET: address, WATCHDOG_USEC: "30000000", WATCHDOG_PID: String(process.pid) };
  const service = takeServiceManager(env, { ...options, clock, onProblem: (reason) => said.push(reason) });
  clock.advance(60_000);
  service.ready("serving", () => problem);
  clock.advance(10_000);
  problem = "the listener has exited";
  clock.advance(60_000);
  problem = undefined;
  clock.advance(10_000);
  service.stopping();
  clock.advance(60_000);
  service.status("over");
  expect(Array.from({ length: 5 }, () => socket.receive())).toEqual([
    "READY=1\nSTATUS=serving",
    "WATCHDOG=1",
    "WATCHDOG=1",
    "STOPPING=1\nSTATUS=stopping",
    "STATUS=over",
  ]);
  expect([said, clock.pending]).toEqual([["the listener has exited"], 0]);
});

test.each([
  ["another process", { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "1" }],
  ["no time", { WATCHDOG_USEC: "0" }],
  ["what is not a number", { WATCHDOG_USEC: "soon" }],
])("a watchdog for %s is not notified", (_, more) => {
  using files = temporaryDirectory("watchdog");
  const address = join(files.path, "notify");
  using _socket = openDatagramSocket(address);
  const clock = manualClock();
  takeServiceManager({ NOTIFY_SOCKET: address, ...more }, { ...options, clock }).ready("serving");
  expect(clock.pending).toBe(0);
});
