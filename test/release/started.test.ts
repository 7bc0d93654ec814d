import { expect, test } from "bun:test";
import { join } from "node:path";
import { startedUnder } from "../../release/started.ts";
import { startProgram } from "../harness/process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

const one = (pid: number, parent: number, isMarked = false) => ({ pid, parent, isMarked });

test("what is marked is found, and what it started without the mark; this process and others are not", () => {
  const all = [
    one(1, 0),
    one(10, 1, true),
    one(11, 10),
    one(12, 11),
    one(20, 1, true),
    one(30, 1),
    one(5, 1, true),
  ];
  expect(startedUnder(all, 5).sort()).toEqual([10, 11, 12, 20]);
  expect(startedUnder([one(10, 11, true), one(11, 10, true)], 5).sort()).toEqual([10, 11]);
  expect(startedUnder([one(1, 0), one(30, 1)], 5)).toEqual([]);
});

/** Whether a process is there; one that has ended and that nobody waits for is not. */
const isThere = (pid: number) =>
  Bun.spawnSync(["sh", "-c", `grep -q '^State:.[^Z]' /proc/${pid}/status`], { stderr: "ignore" }).exitCode ===
  0;

test("whatever was started is ended: in a session of its own, without its parent, and deaf to the request", async () => {
  using files = temporaryDirectory("started");
  const mark = `SVC_STARTED_TEST=${process.pid}`;
  const script = [
    "setsid sleep 600 & echo session $!",
    "sh -c 'trap \"\" TERM; echo deaf $$; while :; do sleep 600; done' &",
    "env -i /bin/sleep 600 & echo bare $!",
    "sleep 600 & echo plain $!",
    `cd ${files.path} && sleep 600 & echo inside $!`,
    "echo all; wait",
  ].join("\n");
  await using program = startProgram(["sh", "-c", script], { env: { SVC_STARTED_TEST: `${process.pid}` } });
  await program.waitFor("all");
  await program.waitFor("deaf");
  const pids = [...program.output().matchAll(/^(?:session|deaf|bare|plain|inside) (\d+)$/gm)].map(([, pid]) =>
    Number(pid),
  );
  expect([pids.length, pids.every(isThere)]).toEqual([5, true]);
  const ending = join(import.meta.dir, "../../release/started.ts");
  const code = `const { endStarted } = await import(${JSON.stringify(ending)});
    process.stdout.write((await endStarted(${JSON.stringify(mark)}, 300)).join());`;
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, "-e", code], {
    env: { PATH: process.env.PATH ?? "" },
  });
  expect([exitCode, stdout.toString(), pids.filter(isThere)]).toEqual([0, files.path, []]);
});
