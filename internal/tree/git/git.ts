import type { Clock } from "../../base/clock.ts";
import { beginningOf } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { cleanEnvironment, programPath } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";

/** Timeout of one step, such as a fetch. */
const timeoutMs = 5 * 60_000;
/** Output limit for names of refs; listings and contents of files are read as they come. */
const outputLimit = 32 * 1024 * 1024;
/** Address space of a step: a server may announce objects, and send names, that need any amount of memory. */
const maxMemoryBytes = 2 * 1024 * 1024 * 1024;

export interface GitOptions {
  /** `gitfs.ssh_key`; empty to use the default keys of ssh. */
  sshKey: string;
  /** A file of trusted host keys, in addition to those of this host. */
  knownHosts: string;
  clock: Clock;
  signal: AbortSignal;
}

export interface RunOptions {
  stdin?: string;
  /** Variables in addition to those that every step has. */
  env?: Readonly<Record<string, string>>;
  /** Maximum size of each file that the step writes; beyond it the kernel ends the step. */
  fileBytes?: number;
  /** Maximum address space of the step, when it needs another than most. */
  memoryBytes?: number | "unlimited";
}

/** How a step of git ended. */
interface Ended {
  code: number;
  stdout: string;
  /** The most informative line of its error output, without credentials. */
  reason: string;
}

/** The program `git`, restricted as far as possible, because it talks to servers and reads untrusted data. */
export interface Git {
  /**
   * @param cwd a repository, or any directory for commands that need none
   * @returns standard output
   * @throws SvcError `unavailable` with the error message of git, without credentials
   */
  run(cwd: string, args: readonly string[], options?: RunOptions): Promise<string>;
  /** The same for a step whose failure is an answer. @throws SvcError `unavailable` when it takes too long */
  attempt(cwd: string, args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** The arguments before a command, and the environment of the program. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** @throws SvcError `bad_request` when git is not installed */
export function openGit({ sshKey, knownHosts, clock, signal }: GitOptions): Git {
  if (Bun.which("git", { PATH: programPath }) === null) {
    throw new SvcError(
      "bad_request",
      'gitfs.remotes: git is not installed; install it, or start with --gitfs-remotes ""',
    );
  }
  const command = ["git", ...settings.flatMap((setting) => ["-c", setting])];
  const env = {
    ...cleanEnvironment(undefined),
    LC_ALL: "C",
    // Ignores the configuration of the host and the user, and never prompts.
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    SSH_ASKPASS: "/bin/false",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_ALLOW_PROTOCOL: "https:ssh:file",
    GIT_SSH_COMMAND: sshCommand(sshKey, knownHosts),
  };
  const nameOf = (args: readonly string[]) =>
    `git ${args.find((arg, at) => !arg.startsWith("-") && args[at - 1] !== "-c") ?? ""}`;
  const attempt: Git["attempt"] = async (cwd, args, { stdin, env: more, ...limits } = {}) => {
    const result = await runProcess({
      argv: limited([...command, ...args], limits),
      env: { ...env, ...more },
      cwd,
      umask: 0o077,
      timeoutMs,
      signal,
      clock,
      outputLimit,
      ...defined({ stdin }),
    });
    if (result.stopped === "timeout") {
      throw new SvcError("unavailable", `${nameOf(args)} took longer than ${timeoutMs / 60_000} minutes`);
    }
    if (result.stdout.omitted > 0)
      throw new SvcError("too_large", `${nameOf(args)} produced too much output`);
    return {
      code: result.code,
      stdout: result.stdout.text,
      reason: reasonIn(result.stderr.text, result.code),
    };
  };
  return {
    command,
    env,
    attempt,
    async run(cwd, args, options) {
      const { code, stdout, reason } = await attempt(cwd, args, options);
      if (code !== 0) throw new SvcError("unavailable", `${nameOf(args)} failed: ${reason}`);
      return stdout;
    },
  };
}

const settings = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "gc.autoDetach=false",
  "submodule.recurse=false",
  "credential.helper=",
  // What a server sends goes into one file, whose size has a bound, and large objects pass without being held.
  "fetch.unpackLimit=1",
  "core.bigFileThreshold=16m",
  "core.packedGitWindowSize=16m",
  "core.packedGitLimit=256m",
  "pack.threads=1",
  // No signature of these kinds counts, and nothing asks a keyring of this host.
  "gpg.program=/bin/false",
  "gpg.openpgp.program=/bin/false",
  "gpg.x509.program=/bin/false",
];

/** Runs a program with limits of the kernel; a lower limit that this process already has stays. */
function limited(
  argv: readonly string[],
  { fileBytes, memoryBytes = maxMemoryBytes }: Pick<RunOptions, "fileBytes" | "memoryBytes">,
): string[] {
  const blocks = fileBytes === undefined ? "unlimited" : String(Math.max(1, Math.ceil(fileBytes / 512)));
  const memory = memoryBytes === "unlimited" ? memoryBytes : String(memoryBytes / 1024);
  const script = 'ulimit -v "$0" 2>/dev/null; ulimit -f "$1" 2>/dev/null; shift; exec "$@"';
  return ["/bin/sh", "-c", script, memory, blocks, ...argv];
}

/** Returns a URL without its user name and password, which may be secret. */
export function shownUrl(url: string): string {
  return beginningOf(url.replace(/:\/\/[^/@\s]*@/, "://"), 300);
}

function sshCommand(key: string, knownHosts: string): string {
  const options = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    `UserKnownHostsFile="${knownHosts}" ~/.ssh/known_hosts`,
    "ConnectTimeout=20",
    "ForwardAgent=no",
    "PermitLocalCommand=no",
    ...(key === "" ? [] : ["IdentitiesOnly=yes", `IdentityFile="${key}"`]),
  ];
  return ["ssh", "-F", "/dev/null", "-x", ...options.flatMap((option) => ["-o", option])]
    .map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    .join(" ");
}

/** Returns the most informative line of git's error output. */
function reasonIn(stderr: string, code: number): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  const line = lines.find((text) => /^(?:fatal|error|ssh|Host key|.*[Pp]ermission denied)/.test(text));
  const found = line ?? lines.findLast((text) => text !== "");
  return found === undefined ? `exit code ${code}` : shownUrl(found);
}
