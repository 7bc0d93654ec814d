import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// A program that accepts connections and says nothing, as a frozen bus does, and the compiled svc.

setDefaultTimeout(60_000);

let directory: ReturnType<typeof temporaryDirectory>;
let config: string;
let url: string;
let silent: ReturnType<typeof listen>;

const listen = () => Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });

beforeAll(async () => {
  silent = listen();
  directory = temporaryDirectory("silent-bus");
  const fleet = join(directory.path, "fleet");
  const made = await runProgram([binaries.cli, "init", fleet, "--bus-port", String(silent.port)]);
  expect([made.code, made.stderr]).toEqual([0, expect.any(String)]);
  config = join(fleet, "svc.yaml");
  url = `tls://localhost:${silent.port}`;
});
afterAll(() => {
  silent?.stop(true);
  directory?.[Symbol.dispose]();
});

const svc = (...words: string[]) => runProgram([binaries.cli, "--config", config, ...words]);

test.each([
  [["peels", "list"]],
  [["run", "*", "test.ping"]],
  [["job", "list"]],
  [["events", "--follow"]],
  [["enroll", "list", "--output", "json"]],
  [["rollout", "list"]],
  [["audit", "list"]],
  [["console"]],
  [["status"]],
])("svc %j ends when its time to connect is over", async (words) => {
  expect(await svc(...words, "--connect-timeout", "300ms")).toEqual({
    ...{ code: 1, stdout: "" },
    stderr: `svc: cannot connect to the bus at ${url}: no answer in time\n`,
  });
});

test("svc doctor names the bus and ends", async () => {
  const { code, stdout } = await svc("doctor", "--connect-timeout", "300ms");
  expect([code, stdout]).toEqual([1, expect.stringMatching(/FAIL +bus connection +no answer/)]);
});

test.each([
  ["0s", "svc: --connect-timeout must be longer than 0s\n"],
  ["soon", 'svc: --connect-timeout: "soon" is not a duration'],
])("--connect-timeout %s is refused", async (text, stderr) => {
  expect(await svc("peels", "list", "--connect-timeout", text)).toEqual({
    ...{ code: 2, stdout: "" },
    stderr: expect.stringContaining(stderr),
  });
});
