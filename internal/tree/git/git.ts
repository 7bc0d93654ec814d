import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { cleanEnvironment, programPath } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";

/** Timeout of one step, such as a fetch. */
const timeoutMs = 5 * 60_000;
/** Output limit for names of refs and files; file contents are read separately. */
const outputLimit = 32 * 1024 * 1024;

export interface GitOptions {
  /** `gitfs.ssh_key`; empty to use the default keys of ssh. */
  sshKey: string;
  /** A file of trusted host keys, in addition to those of this host. */
  knownHosts: string;
  clock: Clock;
  signal: AbortSignal;
}

/** The program `git`, restricted as far as possible, because it talks to servers and reads untrusted data. */
export interface Git {
  /**
   * @param cwd a repository, or any directory for commands that need none
   * @returns standard output
   * @throws SvcError `unavailable` with the error message of git, without credentials
   */
  run(cwd: string, args: readonly string[], stdin?: string): Promise<string>;
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
  const command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
  for (const setting of ["gc.autoDetach=false", "submodule.recurse=false", "credential.helper="]) {
    command.push("-c", setting);
  }
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
    GIT_ALLOW_PROTOCOL: "https:ssh:file",
    GIT_SSH_COMMAND: sshCommand(sshKey, knownHosts),
  };
  return {
    command,
    env,
    async run(cwd, args, stdin) {
      const result = await runProcess({
        argv: [...command, ...args],
        env,
        cwd,
        umask: 0o077,
        timeoutMs,
        signal,
        clock,
        outputLimit,
        ...defined({ stdin }),
      });
      const what = `git ${args.find((arg) => !arg.startsWith("-")) ?? ""}`;
      if (result.stopped === "timeout") {
        throw new SvcError("unavailable", `${what} took longer than ${timeoutMs / 60_000} minutes`);
      }
      if (result.code !== 0) {
        throw new SvcError("unavailable", `${what} failed: ${reasonIn(result.stderr.text, result.code)}`);
      }
      if (result.stdout.omitted > 0) throw new SvcError("too_large", `${what} produced too much output`);
      return result.stdout.text;
    },
  };
}

/** Returns a URL without its user name and password, which may be secret. */
export function shownUrl(url: string): string {
  return url.replace(/:\/\/[^/@\s]*@/, "://").slice(0, 300);
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
