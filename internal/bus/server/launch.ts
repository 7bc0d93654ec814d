import { dirname } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { cleanEnvironment, programPath } from "../../base/process/environment.ts";
import { readServerLine } from "./log-line.ts";

const readyLine = "Server is ready";
/** The words of the system for `ENOSPC`, which every message about it has. */
const noRoom = "no space left on device";
/** Longer lines are truncated. */
const maxLineBytes = 16 * 1024;
const killAfterMs = 10_000;

/** A running nats-server. */
export interface RunningServer {
  readonly pid: number;
  /** Resolves when it accepts connections. */
  readonly ready: Promise<void>;
  /** Resolves when it has exited and all its output was read. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | number | null }>;
  /** The last error message it wrote. */
  lastWords(): string | undefined;
  /** Whether it said that the disk is full: what it stores may not work again before it is restarted. */
  ranOutOfRoom(): boolean;
  /** Makes it read its configuration and its certificates again. Connections stay. */
  reload(): void;
  /** Sends SIGTERM, and SIGKILL after 10 seconds. Resolves when it has exited. */
  stop(): Promise<void>;
}

/**
 * Starts a nats-server in its own session, so that Ctrl-C at a terminal reaches only the master, which
 * stops the server last. Where supported, the kernel kills the server when this process dies.
 *
 * @throws SvcError `bad_request` when it cannot be executed
 */
export function launchServer(options: {
  program: string;
  config: string;
  clock: Clock;
  /** Gets every line. */
  log: Log;
}): RunningServer {
  const { program, config, clock, log } = options;
  const child = spawn([...dieWithParent(), program, "-c", config], dirname(config));
  const ready = Promise.withResolvers<void>();
  let lastWords: string | undefined;
  let ranOutOfRoom = false;
  const reading = readLines(child.stderr, (line) => {
    const read = readServerLine(line);
    if (read === undefined) return;
    log[read.level](read.text);
    if (read.level === "error") lastWords = read.text;
    ranOutOfRoom ||= read.text.includes(noRoom);
    if (read.text === readyLine) ready.resolve();
  });
  const exited = child.exited.then(async () => {
    await reading;
    return { code: child.exitCode, signal: child.signalCode };
  });
  return {
    pid: child.pid,
    ready: ready.promise,
    exited,
    lastWords: () => lastWords,
    ranOutOfRoom: () => ranOutOfRoom,
    reload: () => child.kill("SIGHUP"),
    async stop() {
      child.kill("SIGTERM");
      const late = clock.after(killAfterMs, () => child.kill("SIGKILL"));
      await exited;
      late.cancel();
    },
  };
}

function spawn(argv: string[], cwd: string): Bun.Subprocess<"ignore", "ignore", "pipe"> {
  try {
    return Bun.spawn(argv, {
      cwd,
      env: cleanEnvironment(undefined),
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
      detached: true,
    });
  } catch (cause) {
    throw new SvcError("bad_request", `embedded_bus: cannot run ${argv.at(-3)}: ${reasonOf(cause)}`);
  }
}

/** The program that sets the parent death signal and then execs the server. The BusyBox version cannot. */
function dieWithParent(): string[] {
  const setpriv = Bun.which("setpriv", { PATH: programPath });
  if (setpriv === null) return [];
  const help = Bun.spawnSync([setpriv, "--help"], { stdin: "ignore", stderr: "ignore" });
  return help.stdout.includes("--pdeathsig") ? [setpriv, "--pdeathsig", "TERM", "--"] : [];
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line.slice(0, maxLineBytes));
    if (rest.length > maxLineBytes) {
      onLine(rest.slice(0, maxLineBytes));
      rest = "";
    }
  }
  if (rest !== "") onLine(rest);
}
