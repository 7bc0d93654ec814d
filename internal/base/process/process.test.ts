import { expect, test } from "bun:test";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { runProgram } from "../../../test/harness/process.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../clock.ts";
import { type Account, type ProcessOptions, runProcess } from "./process.ts";

const nobody: Account = { name: "nobody", uid: 65534, gid: 65534, home: "/", shell: "/bin/sh" };
const isRoot = process.getuid?.() === 0;

function run(argv: string[], options: Partial<ProcessOptions> = {}) {
  return runProcess({ argv, env: { PATH: "/usr/bin:/bin" }, cwd: "/", clock: manualClock(), ...options });
}

const shell = (command: string, options: Partial<ProcessOptions> = {}) =>
  run(["/bin/sh", "-c", command], options);

/** A named pipe: a reader waits until a process writes to it, and so until the process exists. */
async function namedPipe(directory: string, name: string) {
  const path = join(directory, name);
  expect((await runProgram(["mkfifo", path])).code).toBe(0);
  return { path, read: () => Bun.file(path).text() };
}

/** Whether a process runs; one that ended and waits for its parent does not. */
function isRunning(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !["Z", "X"].includes(text.charAt(text.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

test("gives exit code and both streams apart", async () => {
  const result = await shell("echo out; echo err >&2; exit 3");
  expect(result).toMatchObject({ code: 3, stdout: { text: "out\n" }, stderr: { text: "err\n" } });
  expect(result).not.toHaveProperty("stopped");
  expect(result).not.toHaveProperty("killedBy");
});

test("streams can be opened by name, which a socket could not", async () => {
  const result = await shell("echo out >/dev/stdout; echo err >/dev/stderr");
  expect(result).toMatchObject({ code: 0, stdout: { text: "out\n" }, stderr: { text: "err\n" } });
});

test("a program that a signal ended has 128 and its number", async () => {
  expect(await shell("kill -9 $$")).toMatchObject({ code: 137, killedBy: "SIGKILL" });
  expect(await shell("kill -15 $$")).toMatchObject({ code: 143, killedBy: "SIGTERM" });
});

test("nothing is inherited: no variable, no open file, no terminal's session", async () => {
  expect((await run(["env"], { env: { PATH: "/usr/bin:/bin", A: "b c" } })).stdout.text).toBe(
    "PATH=/usr/bin:/bin\nA=b c\n",
  );
  expect((await run(["ls", "/proc/self/fd"])).stdout.text).toBe("0\n1\n2\n3\n");
  const { pid, stdout } = await shell("cut -d' ' -f5,6 /proc/$$/stat");
  expect(stdout.text).toBe(`${pid} ${pid}\n`);
});

test("stdin is the given text, or empty", async () => {
  expect((await run(["cat"], { stdin: "één\n".repeat(50_000) })).stdout.omitted).toBeGreaterThan(0);
  expect((await run(["wc", "-c"], { stdin: "x".repeat(3_000_000) })).stdout.text).toBe("3000000\n");
  expect((await run(["wc", "-c"])).stdout.text).toBe("0\n");
  expect((await run(["true"], { stdin: "x".repeat(3_000_000) })).code).toBe(0);
});

test("binary output becomes text with replacement characters", async () => {
  const { stdout } = await shell("printf 'a\\377\\000b'");
  expect(stdout).toEqual({ text: "a\ufffd\u0000b", omitted: 0 });
});

test("300 MB of output stay in bounded memory, head and tail kept", async () => {
  const script = `
    import { readFileSync } from "node:fs";
    import { runProcess } from ${JSON.stringify(join(import.meta.dir, "process.ts"))};
    import { systemClock } from ${JSON.stringify(join(import.meta.dir, "../clock.ts"))};
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
    const run = (command) => runProcess({ argv: ["/bin/sh", "-c", command], env: { PATH: "/usr/bin:/bin" },
      cwd: "/", clock: systemClock });
    await run("true");
    const before = peak();
    const { stdout, code } = await run("echo first; head -c 300000000 /dev/zero; echo last");
    const { text, omitted } = stdout;
    process.stdout.write(JSON.stringify({ grown: peak() - before, code, omitted, length: text.length,
      ends: [text.slice(0, 6), text.slice(-5)] }));`;
  const { stdout, stderr } = await runProgram([process.execPath, "-e", script]);
  expect(stderr).toBe("");
  const seen = JSON.parse(stdout);
  expect(seen).toMatchObject({ code: 0, omitted: 300_000_011 - 128 * 1024, ends: ["first\n", "last\n"] });
  expect(seen.length).toBeLessThan(129 * 1024);
  expect(seen.grown).toBeLessThan(64 * 1024 * 1024);
});

test("no file stays open, whatever happened", async () => {
  await shell("true");
  const before = readdirSync("/proc/self/fd").length;
  for (let i = 0; i < 20; i++) {
    await shell("echo x; echo y >&2");
    await run(["/nonexistent"]).catch(() => {});
    await run(["true"], { env: { PATH: "/bin", BIG: "x".repeat(200_000) } }).catch(() => {});
  }
  expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + 2);
});

test.each<[string, string[], Partial<ProcessOptions>, string]>([
  ["a missing program", ["nonexistent"], {}, 'cannot run "nonexistent": not found'],
  [
    "a file that is not executable",
    ["/etc/passwd"],
    {},
    'cannot run "/etc/passwd": not found, or not executable',
  ],
  ["a missing directory", ["true"], { cwd: "/nonexistent" }, "cwd: /nonexistent is not a directory"],
  ["a file as directory", ["true"], { cwd: "/etc/passwd" }, "cwd: /etc/passwd is not a directory"],
  [
    "a huge environment",
    ["true"],
    { env: { PATH: "/bin", A: "x".repeat(200_000) } },
    "exceed the size limit of the system",
  ],
  ["a null byte", ["echo", "a\0b"], {}, "cannot hold null bytes"],
])("%s is refused in words", async (_, argv, options, message) => {
  await expect(run(argv, options)).rejects.toThrow(message);
});

test("an environment of a megabyte passes", async () => {
  const env = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`V${i}`, "x".repeat(100_000)]));
  const { stdout } = await shell("env | wc -c", { env: { PATH: "/usr/bin:/bin", ...env } });
  expect(Number(stdout.text)).toBeGreaterThan(1_000_000);
});

test("the umask is the program's alone", async () => {
  const own = process.umask();
  expect((await shell("umask", { umask: 0o027 })).stdout.text).toBe("0027\n");
  expect(process.umask()).toBe(own);
});

test("another user is taken on whole: uid, gid, groups, no way back", async () => {
  const requested = shell("id -u; id -g; id -G; umask; grep CapEff /proc/self/status", {
    account: nobody,
    umask: 0o077,
  });
  if (!isRoot) return expect(requested).rejects.toThrow("only root can run something as nobody");
  const { stdout } = await requested;
  expect(stdout.text).toBe("65534\n65534\n65534\n0077\nCapEff:\t0000000000000000\n");
});

test("groups of the daemon do not come along to another user", async () => {
  const script = `
    import { runProcess } from ${JSON.stringify(join(import.meta.dir, "process.ts"))};
    import { systemClock } from ${JSON.stringify(join(import.meta.dir, "../clock.ts"))};
    const account = ${JSON.stringify(isRoot ? nobody : null)} ?? undefined;
    const { stdout } = await runProcess({ argv: ["id", "-G"], env: { PATH: "/usr/bin:/bin" }, cwd: "/",
      clock: systemClock, account });
    process.stdout.write(stdout.text);`;
  const groups = isRoot ? ["setpriv", "--groups", "4,27"] : [];
  const { stdout } = await runProgram([...groups, process.execPath, "-e", script]);
  expect(stdout.trim()).toBe(isRoot ? "65534" : (await runProgram(["id", "-G"])).stdout.trim());
});

test("a time limit ends the program", async () => {
  using directory = temporaryDirectory("process");
  const ready = await namedPipe(directory.path, "ready");
  const clock = manualClock();
  const running = shell(`echo early; echo $$ >${ready.path}; exec sleep 600`, { clock, timeoutMs: 3_000 });
  const pid = Number(await ready.read());
  clock.advance(2_999);
  expect(isRunning(pid)).toBe(true);
  clock.advance(1);
  const result = await running;
  expect(result).toMatchObject({ code: 143, killedBy: "SIGTERM", stopped: "timeout" });
  expect(result.stdout.text).toBe("early\n");
  expect(clock.pending).toBe(0);
});

test("a program that exits after SIGTERM is not killed", async () => {
  using directory = temporaryDirectory("process");
  const ready = await namedPipe(directory.path, "ready");
  const never = await namedPipe(directory.path, "never");
  const clock = manualClock();
  const stop = new AbortController();
  // Waits in the shell itself: a child could get the signal before it is what it is going to be.
  const running = shell(
    `exec 3<>${never.path}; trap 'echo cleaned; exit 7' TERM; echo $$ >${ready.path}; while :; do read x <&3; done`,
    { clock, signal: stop.signal },
  );
  await ready.read();
  const line = openSync(never.path, "r+");
  stop.abort();
  // A signal that comes between two commands and the read of the shell is handled after the read.
  writeSync(line, "\n");
  const result = await running;
  closeSync(line);
  expect(result).toMatchObject({ code: 7, stopped: "aborted", stdout: { text: "cleaned\n" } });
  expect(result).not.toHaveProperty("killedBy");
  expect(clock.pending).toBe(0);
});

test("a grandchild that ignores SIGTERM is killed after 5 seconds, though its parent ended before", async () => {
  using directory = temporaryDirectory("process");
  const ready = await namedPipe(directory.path, "ready");
  const reported = await namedPipe(directory.path, "told");
  const clock = manualClock();
  const stop = new AbortController();
  const stubborn = `trap '' TERM; echo $$ >${ready.path}; exec sleep 600`;
  const running = shell(
    `trap 'echo told >${reported.path}; exit 0' TERM; /bin/sh -c "${stubborn.replaceAll("$", "\\$")}" & wait`,
    { clock, signal: stop.signal },
  );
  const grandchild = Number(await ready.read());
  stop.abort();
  expect(await reported.read()).toBe("told\n");
  clock.advance(4_999);
  expect(isRunning(grandchild)).toBe(true);
  clock.advance(1);
  expect((await running).stopped).toBe("aborted");
  // A killed process needs a moment of the kernel to be gone.
  while (isRunning(grandchild)) await new Promise(setImmediate);
  expect(clock.pending).toBe(0);
});

test("a process that left the group and holds the pipes is not waited for", async () => {
  const { code, stdout } = await shell("setsid sleep 600 & echo $!", { clock: systemClock });
  expect(code).toBe(0);
  const background = Number(stdout.text);
  expect(isRunning(background)).toBe(true);
  process.kill(background, "SIGKILL");
});

test("a call that was aborted before the start does not start", async () => {
  using directory = temporaryDirectory("process");
  const mark = join(directory.path, "mark");
  const signal = AbortSignal.abort(new Error("too late"));
  await expect(run(["touch", mark], { signal })).rejects.toThrow("too late");
  expect(existsSync(mark)).toBe(false);
});
