import { expect, test } from "bun:test";
import { join } from "node:path";
import { callFunction } from "../../../test/harness/call.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { runProgram } from "../../../test/harness/process.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import type { Plain } from "../../base/msgpack.ts";

const isRoot = process.getuid?.() === 0;

/** The failure of a call. */
async function failure(name: string, args: Record<string, Plain>): Promise<unknown> {
  return callFunction(name, args).then(
    (value) => expect.unreachable(JSON.stringify(value)),
    (thrown) => thrown,
  );
}

test("a command line is run by a shell, an argv is not", async () => {
  expect(await callFunction("cmd.run", { command: "echo $((1 + 1)); echo err >&2" })).toEqual({
    pid: expect.any(Number),
    retcode: 0,
    stdout: "2\n",
    stderr: "err\n",
  });
  expect(await callFunction("cmd.run", { argv: ["echo", "$((1 + 1))", "a  b", ";"] })).toMatchObject({
    stdout: "$((1 + 1)) a  b ;\n",
  });
});

test("a command that does not exit with 0 fails with its output and its code", async () => {
  expect(await failure("cmd.run", { command: "echo so far; exit 42" })).toMatchObject({
    message: "exited with 42",
    retcode: 42,
    value: { retcode: 42, stdout: "so far\n", stderr: "" },
  });
  expect(await failure("cmd.run", { command: "kill -9 $$" })).toMatchObject({
    message: "killed by SIGKILL",
    retcode: 137,
    value: { retcode: 137, signal: "SIGKILL" },
  });
  expect(await callFunction("cmd.retcode", { command: "exit 42" })).toBe(42);
});

test("the environment is clean, and the call adds or removes variables", async () => {
  process.env.SVC_TEST_INHERITED = "secret";
  const { stdout } = (await callFunction("cmd.run", {
    argv: ["env"],
    env: { ADDED: "a=b", NUMBER: 1, LANG: null },
  })) as { stdout: string };
  delete process.env.SVC_TEST_INHERITED;
  const names = stdout.split("\n").map((line) => line.split("=")[0]);
  expect(names.sort()).toEqual(["", "ADDED", "HOME", "LOGNAME", "NUMBER", "PATH", "SHELL", "USER"]);
  expect(stdout).toContain("ADDED=a=b\nNUMBER=1\n");
});

test("directory, umask and stdin come from the call", async () => {
  using directory = temporaryDirectory("cmd");
  expect(
    await callFunction("cmd.run", {
      command: "pwd; umask; cat",
      cwd: directory.path,
      umask: "027",
      stdin: "in",
    }),
  ).toMatchObject({ stdout: `${directory.path}\n0027\nin` });
  expect(await callFunction("cmd.run", { command: "pwd" })).toMatchObject({ stdout: "/\n" });
});

test("another user has its own home directory", async () => {
  const args = { command: 'id -un; echo "$USER $LOGNAME"; [ "$HOME" != /root ]', user: "nobody" };
  if (isRoot)
    expect(await callFunction("cmd.run", args)).toMatchObject({ stdout: "nobody\nnobody nobody\n" });
  else expect(await failure("cmd.run", args)).toMatchObject({ kind: "forbidden" });
  expect(await failure("cmd.run", { command: "true", user: "no-such-user" })).toMatchObject({
    message: 'this host has no user "no-such-user"',
  });
});

test.each(["timeout", "cancel"])("a command stopped by %s fails with its output", async (how) => {
  using directory = temporaryDirectory("cmd");
  const ready = join(directory.path, "ready");
  await runProgram(["mkfifo", ready]);
  const clock = manualClock();
  const cancel = new AbortController();
  const running = callFunction(
    "cmd.run",
    { command: `echo before; echo >${ready}; exec sleep 600`, timeout: "1m30s" },
    { clock, signal: cancel.signal },
  );
  await Bun.file(ready).text();
  if (how === "timeout") clock.advance(90_000);
  else cancel.abort();
  const thrown = await running.catch((cause) => cause);
  expect(thrown).toMatchObject({
    message:
      how === "timeout" ? "stopped after 1m30s: ended by SIGTERM" : "stopped with its job: ended by SIGTERM",
    retcode: 143,
    value: { retcode: 143, signal: "SIGTERM", stdout: "before\n" },
  });
  expect(clock.pending).toBe(0);
});

test.each<[Record<string, Plain>, string]>([
  [{}, "cmd.run: give either command or argv"],
  [{ command: "a", argv: ["a"] }, "cmd.run: give either command or argv"],
  [{ command: "" }, "cmd.run: command: expected a command line"],
  [{ argv: [] }, "cmd.run: argv: expected a program"],
  [{ argv: [""] }, "cmd.run: argv: expected a program"],
  [{ command: "a", env: { "A=B": "c" } }, 'cmd.run: env: "A=B" is not a valid variable name'],
  [{ command: "a", env: { A: ["c"] } }, "cmd.run: env: A: expected a string"],
  [{ command: "a", umask: "9" }, "cmd.run: umask: expected three or four octal digits"],
  [{ command: "a", cwd: "tmp" }, "cmd.run: cwd: expected an absolute path"],
])("%j is refused before anything runs", async (args, message) => {
  expect(await failure("cmd.run", args)).toMatchObject({ message: expect.stringContaining(message) });
});

test("cmd.which finds the program of a command name", async () => {
  expect(await callFunction("cmd.which", { name: "sh" })).toMatch(/^\/.*\/sh$/);
  expect(await callFunction("cmd.which", { name: "no-such-program" })).toBeNull();
});
