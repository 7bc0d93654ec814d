import { expect, test } from "bun:test";
import { join } from "node:path";
import { openDatagramSocket } from "../../test/harness/datagram-socket.ts";
import { temporaryDirectory } from "../../test/harness/temporary.ts";
import { takeServiceManager } from "./service-manager.ts";

const fail = () => {
  throw new Error("not sent");
};

test.each(["a path", "an abstract name"])("a service manager on %s is told", (kind) => {
  using files = temporaryDirectory("notify");
  const address = kind === "a path" ? join(files.path, "notify") : `@svc-test-${process.pid}`;
  using socket = openDatagramSocket(address);
  const service = takeServiceManager({ NOTIFY_SOCKET: address }, fail);
  expect(service.listens).toBe(true);
  service.status("waiting\nfor the bus");
  service.ready("serving");
  service.stopping();
  expect(socket.receive()).toBe("STATUS=waiting for the bus");
  expect(socket.receive()).toBe("READY=1\nSTATUS=serving");
  expect(socket.receive()).toBe("STOPPING=1\nSTATUS=stopping");
});

test("the address leaves the environment", () => {
  const env = { NOTIFY_SOCKET: "/nowhere", PATH: "/bin" };
  takeServiceManager(env, fail);
  expect(env).toEqual({ PATH: "/bin" } as typeof env);
});

test.each([{}, { NOTIFY_SOCKET: "" }])("without a service manager nothing happens: %j", (env) => {
  const service = takeServiceManager(env, fail);
  expect(service.listens).toBe(false);
  service.ready("serving");
});

test.each([
  ["nobody listens", "/nowhere/notify"],
  ["it is of another kind", "vsock:2:1234"],
  ["it is longer than the system takes", `/${"a".repeat(108)}`],
])("an address is reported, and no more, when %s", (_, address) => {
  let failures = 0;
  takeServiceManager({ NOTIFY_SOCKET: address }, () => failures++).ready("serving");
  expect(failures).toBe(1);
});
