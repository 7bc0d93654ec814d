import { basename } from "node:path";
import type { Subprocess } from "bun";
import { systemClock } from "../../internal/base/clock.ts";
import { parseOperatorFile } from "../../internal/identity/mod.ts";
import { type KeptLog, runRecord } from "./run-record.ts";

/** A program started by a test: its output is kept, and shown when something goes wrong. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  /** Everything it wrote to stdout and stderr so far. */
  output(): string;
  /** Resolves when its output matches; rejects with the output when it ends before or takes too long. */
  waitFor(pattern: RegExp | string, withinMs?: number): Promise<void>;
  /** Sends a signal. */
  kill(signal?: NodeJS.Signals): void;
  /** Resolves with the exit code. */
  readonly exited: Promise<number>;
}

const timeoutMs = 60_000;

/** Without variables for the tests, such as SVC_PICTURES: the programs would name them as variables that nothing reads. */
const programEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("SVC_")),
);

/** Starts a program; `await using` stops it by its pid, and waits until it has exited. */
export function startProgram(
  command: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Program {
  const child: Subprocess<"ignore", "pipe", "pipe"> = Bun.spawn([...command], {
    env: { ...programEnvironment, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const kept = save(command);
  let text = "";
  const listeners = new Set<() => void>();
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      const piece = decoder.decode(chunk, { stream: true });
      kept.write(piece);
      text += piece;
      for (const listener of listeners) listener();
    }
  };
  const readers = Promise.all([read(child.stdout), read(child.stderr)]);
  const exited = child.exited.then(async (code) => {
    await readers;
    kept.close();
    for (const listener of listeners) listener();
    return code;
  });
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  return {
    pid: child.pid,
    output: () => text,
    exited,
    kill: (signal = "SIGTERM") => child.kill(signal),
    waitFor(pattern, withinMs = timeoutMs) {
      const matches = () => (typeof pattern === "string" ? text.includes(pattern) : pattern.test(text));
      return new Promise<void>((resolve, reject) => {
        const finish = (error?: Error) => {
          listeners.delete(check);
          timer.cancel();
          if (error === undefined) resolve();
          else reject(error);
        };
        const check = () => {
          if (matches()) finish();
          else if (ended) finish(new Error(`${command[0]} ended before ${pattern} appeared:\n${text}`));
        };
        const timer = systemClock.after(withinMs, () =>
          finish(new Error(`${command[0]}: ${pattern} did not appear:\n${text}`)),
        );
        listeners.add(check);
        void exited.then(check);
        check();
      });
    },
    async [Symbol.asyncDispose]() {
      if (!ended) child.kill("SIGTERM");
      const late = systemClock.after(5_000, () => child.kill("SIGKILL"));
      await exited;
      late.cancel();
    },
  };
}

/** Runs a program to its end. */
export async function runProgram(
  command: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn([...command], {
    env: { ...programEnvironment, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const kept = save(command);
  // What other programs print is their result; it may well be a secret that a test asked for. So is the file of an
  // operator, a token, and a join token, which svc prints where its user sends it to a file; a link to the console; and
  // a value that it is to reveal.
  const isOwn = command.some((word) => word.includes("/dist/"));
  const isToken = command[command.indexOf("token") + 1] === "create";
  const isRevealed = isIssued(stdout) || isToken || command.includes("--reveal");
  kept.write(isOwn && !isRevealed ? stdout + stderr : stderr);
  kept.close();
  return { code, stdout, stderr };
}

/** Keeps the arguments of a program, which everybody on a machine can read, and what it will write. */
function save(command: readonly string[]): KeptLog {
  const kept = runRecord.openLog(basename(command[0] ?? ""));
  kept.write(`${command.join(" ")}\n`);
  return kept;
}

/** Whether a text is a secret that a program issues. */
function isIssued(text: string): boolean {
  if (text.startsWith("svcjoin1.") || text.includes("/console/#link=")) return true;
  try {
    parseOperatorFile(text, "standard output");
    return true;
  } catch {
    return false;
  }
}
