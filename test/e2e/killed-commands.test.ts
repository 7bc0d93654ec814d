import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../harness/process.ts";
import { onFullDisk } from "../harness/small-disk.ts";
import { isDecisive } from "../harness/steps/run.ts";
import { openKeyCommands } from "../identities/key-commands.ts";
import { type Killed, runKilled } from "../identities/killed-commands.ts";

// Commands that change the keys of a fleet, killed where a file takes its place, and on a disk that is really
// full. make identities does both at every step.

setDefaultTimeout(120_000);

let opened: Awaited<ReturnType<typeof openKeyCommands>>;

beforeAll(async () => {
  opened = await openKeyCommands();
});
afterAll(() => opened?.[Symbol.asyncDispose]());

/** Each of its runs starts a server. */
const ofSuccession = /^link fleet\/(?:auth\/ca\/root\.key|master\.yaml)#/;

test("whatever a kill leaves, masters can use it, and the next run completes it or says what to do", async () => {
  const { site, commands } = opened;
  for (const command of commands) {
    const picks = command.name === "fleet succeed" ? (step: string) => ofSuccession.test(step) : isDecisive;
    const { steps, wrong } = await runKilled(site, command, "kill", picks);
    expect(wrong).toEqual([]);
    expect([command.name, steps > 0]).toEqual([command.name, true]);
  }
});

/** Runs a command on the full disk, and again after room was made. `between` and `after` get what is on it then. */
async function runTwice(command: Killed) {
  const { site } = opened;
  const at = (name: string) => join(site.scratch, `${command.name} full ${name}`.replaceAll(" ", "-"));
  const [from, dir, between, after] = ["from", "dir", "between", "after"].map(at) as [
    string,
    string,
    string,
    string,
  ];
  for (const path of [from, dir, between, after]) mkdirSync(path);
  await command.prepare(from);
  const script = [
    "between=$1 after=$2; shift 2",
    '"$@" && exit 98; [ $? = 1 ] || exit 97',
    'rm "$filler"; cp -a "$dir/." "$between"',
    '"$@"',
    'cp -a "$dir/." "$after"',
  ].join("\n");
  const program = [process.execPath, join(import.meta.dir, "../../cmd/svc/main.ts"), ...command.argv(dir)];
  const ran = await runProgram([...onFullDisk(dir, from), script, "sh", between, after, ...program], {
    env: { ...command.env },
  });
  return { ...ran, from, dir, between, after };
}

/** The files of a directory that another one lacks, or has with other bytes. */
const lost = (from: string, to: string) =>
  readdirSync(from, { recursive: true, encoding: "utf8" }).filter((name) => {
    if (statSync(join(from, name)).isDirectory()) return false;
    try {
      return !readFileSync(join(to, name)).equals(readFileSync(join(from, name)));
    } catch {
      return true;
    }
  });

test("a command says which file it cannot write, changes nothing, and works after room was made", async () => {
  for (const command of opened.commands) {
    const { code, stderr, from, dir, between, after } = await runTwice(command);
    const [first = ""] = stderr.split("\n").filter((line) => line.startsWith("svc: cannot"));
    expect([command.name, code, first]).toEqual([
      command.name,
      0,
      expect.stringMatching(new RegExp(`^svc: cannot write ${dir}/\\S+: no space left on the device$`)),
    ]);
    expect(lost(from, between)).toEqual([]);
    await command.master(between);
    await command.done(after);
  }
});
