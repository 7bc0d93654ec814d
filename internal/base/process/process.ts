import { realpathSync, statSync } from "node:fs";
import { constants } from "node:os";
import { basename } from "node:path";
import type { Clock } from "../clock.ts";
import { quote } from "../cut.ts";
import { defined } from "../defined.ts";
import { SvcError } from "../errors.ts";
import { bytesOfText } from "../files/byte-text.ts";
import { reasonOf } from "../files/file.ts";
import type { CapturedText } from "./capture.ts";
import { type Output, openOutput } from "./output.ts";
import { killRest, stopGroup } from "./process-group.ts";

/** The account a process runs as: an entry of the system's user database. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
  home: string;
  shell: string;
}

export interface ProcessOptions {
  /** Program and arguments, without a shell. A name without a slash is looked up on `PATH` of `env`. */
  argv: readonly string[];
  /** The whole environment. Nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** An absolute path. */
  cwd: string;
  /** Runs the program with uid, gid and supplementary groups of this account. */
  account?: Account;
  /** Permission bits that new files do not get. Default: the daemon's own umask. */
  umask?: number;
  /** Standard input of the program; empty by default. */
  stdin?: string;
  /** Stops the process group after this time. */
  timeoutMs?: number;
  /** Whether the background processes that the program leaves in its group are killed when it ends. */
  killsRest?: true;
  /** Stops the process group when the signal aborts. */
  signal?: AbortSignal;
  clock: Clock;
  /** Takes what the program writes to stdout and stderr, as it comes. */
  onOutput?(chunk: Uint8Array): void;
  /** Bytes to keep of each of stdout and stderr; 128 KiB by default. */
  outputLimit?: number;
  /** Makes a text of what it writes; UTF-8 with replacement characters by default. */
  decode?(bytes: Buffer): string;
}

export interface ProcessResult {
  pid: number;
  /** Exit code, or 128 plus the number of the signal. */
  code: number;
  /** The signal that ended the process, such as `SIGKILL`. */
  killedBy?: string;
  /** Why the process was stopped. The code tells how it ended. */
  stopped?: "timeout" | "aborted";
  stdout: CapturedText;
  stderr: CapturedText;
}

const defaultOutputLimit = 128 * 1024;
/** How long to keep reading output after the program has ended while another process holds its pipes. */
const heldPipeMs = 500;
/** Where the wrappers below are looked up, independent of the environment of the program. */
const systemPath = "/usr/bin:/bin:/usr/sbin:/sbin";

/**
 * Runs a program to its end, in a session and process group of its own.
 *
 * On timeout, or when the signal aborts, the whole group gets SIGTERM and, 5 seconds later, SIGKILL.
 * When the program ends by itself, its background processes keep running, unless `killsRest` is set. The call does not wait for a
 * background process that holds stdout or stderr.
 *
 * @throws SvcError `bad_request` when the program cannot be started, `forbidden` when this daemon may not
 * run it as that account; the reason of the signal when it aborted before the start
 */
export async function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  options.signal?.throwIfAborted();
  const limit = options.outputLimit ?? defaultOutputLimit;
  const reading = defined({ onChunk: options.onOutput, decode: options.decode });
  const outputs = [openOutput(limit, reading), openOutput(limit, reading)] as const;
  let child: Bun.Subprocess;
  try {
    child = start(options, outputs);
  } catch (cause) {
    for (const output of outputs) output.discard();
    throw cause;
  }
  const ends = Promise.all([outputs[0].read(child.stdout), outputs[1].read(child.stderr)]);
  const { clock, signal, timeoutMs } = options;
  const ended = Promise.withResolvers<void>();
  void child.exited.then(() => {
    if (options.killsRest === true) killRest(child.pid);
    ended.resolve();
  });
  let stopped: ProcessResult["stopped"];
  let stopping: Promise<void> | undefined;
  const stop = (reason: "timeout" | "aborted") => {
    if (stopping !== undefined) return;
    stopped = reason;
    stopping = stopGroup(child.pid, child.exited, clock).then(ended.resolve);
  };
  const onAbort = () => stop("aborted");
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = timeoutMs === undefined ? undefined : clock.after(timeoutMs, () => stop("timeout"));

  await ended.promise;
  timer?.cancel();
  signal?.removeEventListener("abort", onAbort);
  await stopping;
  const patience = clock.after(heldPipeMs, () => {
    for (const output of outputs) output.abandon();
  });
  await ends;
  patience.cancel();
  return {
    pid: child.pid,
    ...endOf(child),
    ...defined({ stopped }),
    stdout: outputs[0].text(),
    stderr: outputs[1].text(),
  };
}

/** How the process ended. A process that hangs in the kernel was sent SIGKILL, and counts as killed by it. */
function endOf(child: Bun.Subprocess): Pick<ProcessResult, "code" | "killedBy"> {
  if (child.exitCode !== null && child.signalCode === null) return { code: child.exitCode };
  const [killedBy, number] = Object.entries(constants.signals).find(([name, value]) => {
    return child.signalCode === name || child.signalCode === value;
  }) ?? ["SIGKILL", constants.signals.SIGKILL];
  return { code: 128 + number, killedBy };
}

function start(options: ProcessOptions, outputs: readonly [Output, Output]): Bun.Subprocess {
  const { argv, env, cwd, stdin } = options;
  const [name = "", ...args] = argv;
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new SvcError("bad_request", `cwd: ${cwd} is not a directory`);
  }
  const program = Bun.which(name, { PATH: env.PATH ?? "", cwd });
  if (program === null) {
    throw new SvcError("bad_request", `cannot run ${shown(name)}: not found, or not executable`);
  }
  const change = changeOf(options);
  try {
    return Bun.spawn([...change.wrapper, program, ...args], {
      cwd,
      env: { ...env },
      stdin: stdin === undefined ? "ignore" : Buffer.from(bytesOfText(stdin)),
      stdout: outputs[0].target,
      stderr: outputs[1].target,
      detached: true,
      ...change.ids,
    });
  } catch (cause) {
    throw new SvcError("bad_request", `cannot run ${shown(name)}: ${startReason(cause)}`, { cause });
  }
}

interface Change {
  /** Programs that set one property and then exec the program. */
  wrapper: string[];
  ids: { uid?: number; gid?: number };
}

/** How the process changes its user and umask. Only another process can set them safely. */
function changeOf({ account, umask }: ProcessOptions): Change {
  const masked =
    umask === undefined
      ? []
      : ["/bin/sh", "-c", 'umask "$0" && exec "$@"', umask.toString(8).padStart(4, "0")];
  const own = process.getuid?.();
  if (account === undefined || account.uid === own) return { wrapper: masked, ids: {} };
  if (own !== 0) {
    throw new SvcError(
      "forbidden",
      `user: svc-peel runs as uid ${own}, and only root can run something as ${account.name}`,
    );
  }
  const setpriv = Bun.which("setpriv", { PATH: systemPath });
  // The BusyBox program of the same name cannot do this.
  if (setpriv === null || isBusybox(setpriv)) {
    return { wrapper: masked, ids: { uid: account.uid, gid: account.gid } };
  }
  const ids = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--init-groups"];
  return { wrapper: [setpriv, ...ids, "--", ...masked], ids: {} };
}

function isBusybox(path: string): boolean {
  return basename(realpathSync(path)) === "busybox";
}

function startReason(cause: unknown): string {
  if (cause instanceof Error && "code" in cause) {
    if (cause.code === "E2BIG") return "arguments or environment exceed the size limit of the system";
    if (cause.code === "ENOEXEC") return "not an executable for this system";
    if (cause.code === "ERR_INVALID_ARG_VALUE") return "arguments and environment cannot hold null bytes";
  }
  return reasonOf(cause);
}

function shown(name: string): string {
  return quote(name, 200);
}
