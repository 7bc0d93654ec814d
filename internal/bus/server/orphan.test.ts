import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { type Program, startProgram } from "../../../test/harness/process.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { executableOf, identityOf } from "../../base/process/process-stat.ts";
import { endOrphan, forgetServer, recordServer } from "./orphan.ts";

const files = temporaryDirectory("orphan");
afterAll(() => files[Symbol.dispose]());
const path = join(files.path, "nats-server.process");

/** A process that stays until it is ended. */
async function start(script = "echo up; while :; do read -r line <&3; done 3<>"): Promise<Program> {
  const fifo = join(files.path, `fifo-${crypto.randomUUID()}`);
  Bun.spawnSync(["mkfifo", fifo]);
  const program = startProgram(["/bin/sh", "-c", `${script} ${fifo}`]);
  await program.waitFor("up");
  return program;
}

/** A note as a master leaves it that is dead by now. */
async function noteOf(program: Program, changes: { start?: string; program?: string } = {}) {
  const server = identityOf(program.pid);
  if (server === undefined) throw new Error("the process is gone");
  recordServer(path, program.pid, changes.program ?? executableOf(program.pid) ?? "");
  const note = JSON.parse(readFileSync(path, "utf8"));
  const dead = { ...note.master, start: "1" };
  writeFileSync(
    path,
    JSON.stringify({ ...note, server: { ...server, start: changes.start ?? server.start }, master: dead }),
  );
}

const end = () => endOrphan(path, systemClock, recordingLog());

test("the bus of a dead master is stopped", async () => {
  await using program = await start();
  await noteOf(program);
  await end();
  expect(await program.exited).toBe(143);
  expect(existsSync(path)).toBe(false);
});

test("a server that ignores SIGTERM is killed", async () => {
  await using program = await start("trap '' TERM; echo up; while :; do read -r line <&3; done 3<>");
  await noteOf(program);
  const quick = { ...systemClock, after: (ms: number, run: () => void) => systemClock.after(ms / 50, run) };
  await endOrphan(path, quick, recordingLog());
  expect(await program.exited).toBe(137);
});

test("the bus of a master that lives is left alone", async () => {
  await using program = await start();
  recordServer(path, program.pid, executableOf(program.pid) ?? "");
  await expect(end()).rejects.toThrow(`another svc-master (process ${process.pid}) runs the bus`);
  expect(identityOf(program.pid)).toBeDefined();
  forgetServer(path);
});

test("another process that has the number now is left alone", async () => {
  await using program = await start();
  for (const changes of [{ start: "12" }, { program: "/usr/sbin/other" }]) {
    await noteOf(program, changes);
    await end();
    expect(identityOf(program.pid)).toBeDefined();
    expect(existsSync(path)).toBe(false);
  }
});

test("no note, and one that cannot be read, mean nothing", async () => {
  await end();
  for (const text of ["", "{", '{"server": {"pid": 1}}', `{"server": ${process.pid}}`]) {
    writeFileSync(path, text);
    await end();
  }
});
