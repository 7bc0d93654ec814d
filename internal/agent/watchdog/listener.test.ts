import { expect, test } from "bun:test";
import { isOwnPort, isTakenFrom, listenersOf } from "./listener.ts";

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 35 1
   1: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 36 1
   2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 37 1
   3: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1002        0 38 1
`;

test("returns the users that listen on a port, not connected users", () => {
  expect(listenersOf(table, 8080)).toEqual([0, 1000]);
  expect(listenersOf(table, 8081)).toEqual([1001]);
  expect(listenersOf(table, 8082)).toEqual([]);
});

test("knows the ports of its own user", () => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const port = server.port ?? 0;
  expect(isOwnPort(port)).toBe(true);
  server.stop(true);
  expect(isOwnPort(port)).toBe(false);
  expect(isOwnPort(port, ["/proc/nowhere"])).toBe(true);
});

test("a port is taken from a process when only others listen on it", () => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const port = server.port ?? 0;
  const other = Bun.spawn(["cat"], { stdin: "pipe", stdout: "ignore" });
  expect([isTakenFrom(process.pid, port), isTakenFrom(other.pid, port)]).toEqual([false, true]);
  expect(isTakenFrom(other.pid, port, ["/proc/nowhere"])).toBe(false);
  server.stop(true);
  expect(isTakenFrom(other.pid, port)).toBe(false);
  other.kill();
});
