import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";
import { startOnTerminal } from "../harness/pseudo-terminal.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// A long result at a real terminal, from the compiled svc: a pager reads keys and ends as it wants, also before it has
// read everything.

setDefaultTimeout(60_000);

/** Longer than any terminal here, and made without a bus. */
const schema = [binaries.cli, "schema", "master"];
const first = '{\r\n  "$schema": ';
const last = "}\r\n";

const start = (env: Record<string, string>, more: readonly string[] = [], rows = 10) =>
  startOnTerminal([...schema, ...more], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", TERM: "xterm", ...env },
    rows,
  });

async function run(env: Record<string, string>, more: readonly string[] = [], rows = 10): Promise<string> {
  const program = start(env, more, rows);
  expect(await program.exit).toBe(0);
  return program.shown;
}

test("a pager shows the result, and one that ends early ends it without an error", async () => {
  expect(await run({ SVC_PAGER: "head -n 1" })).toBe("{\r\n");
  // It reads nothing, and fails: the person has seen why.
  expect(await run({ SVC_PAGER: "echo enough; exit 3" })).toBe("enough\r\n");
  expect(await run({ PAGER: "tail -n 1" })).toBe(last);
});

test("a pager gets the keys of the terminal, and Ctrl-C is for it alone", async () => {
  const prompted = start({ SVC_PAGER: "head -n 1; echo more; read answer < /dev/tty; echo read $answer" });
  await prompted.shows("more");
  prompted.type("q\n");
  expect([await prompted.exit, prompted.shown]).toEqual([0, "{\r\nmore\r\nq\r\nread q\r\n"]);
  const stopping = start({
    SVC_PAGER: "trap 'echo stopped; exit 0' INT; head -n 1; echo begun; read answer < /dev/tty",
  });
  await stopping.shows("begun");
  stopping.type("\u0003");
  expect([await stopping.exit, stopping.shown]).toEqual([0, expect.stringContaining("stopped\r\n")]);
});

test("without a pager that starts, the result is on the terminal", async () => {
  const whole = await run({ SVC_PAGER: "" });
  expect(whole.startsWith(first) && whole.endsWith(last)).toBe(true);
  expect(await run({ PAGER: "cat" })).toBe(whole);
  const missing = await run({ PAGER: "no-such-pager" });
  expect(missing).toContain("no-such-pager");
  expect(missing).toEndWith(whole);
});

test("no pager starts for what fits, for data, or where nobody reads at a terminal", async () => {
  using directory = temporaryDirectory("pager");
  const started = join(directory.path, "started");
  const pager = join(directory.path, "pager");
  writeFileSync(pager, `#!/bin/sh\ntouch ${started}\ncat\n`, { mode: 0o755 });
  const env = { SVC_PAGER: pager };
  const whole = await run({ SVC_PAGER: "" });
  const lines = whole.split("\r\n").length;
  expect(await run(env, [], lines + 1)).toBe(whole);
  expect(await run(env, ["--no-pager"])).toBe(whole);
  expect(await run(env, ["--output", "json"])).toStartWith("{");
  expect(await run({ ...env, TERM: "dumb" })).toBe(whole);
  const piped = await runProgram(schema, { env });
  expect([piped.code, piped.stdout.replaceAll("\n", "\r\n")]).toEqual([0, whole]);
  expect(existsSync(started)).toBe(false);
  // It would have been seen.
  expect(await run(env)).toBe(whole);
  expect(existsSync(started)).toBe(true);
});
