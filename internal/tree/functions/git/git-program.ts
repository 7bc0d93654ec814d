import { beginningOf } from "../../../base/cut.ts";
import { defined } from "../../../base/defined.ts";
import { findAccount } from "../../../base/process/account.ts";
import { cleanEnvironment, programPath } from "../../../base/process/environment.ts";
import { runProcess } from "../../../base/process/process.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import type { GitRemote } from "./git-credentials.ts";

/** Timeout of one step, such as a clone. */
const timeoutMs = 30 * 60_000;
const outputLimit = 4 * 1024 * 1024;
/**
 * Disables programs that a repository or the configuration of the host could name. What a repository has no more is
 * forgotten, here and in submodules, since its name may exclude a new one.
 */
const settings = [
  "fetch.prune=true",
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "gc.autoDetach=false",
  "advice.detachedHead=false",
  "protocol.ext.allow=never",
];

export interface GitWish {
  /** The user that git runs as, which owns the files and the keys; the user of the peel by default. */
  user: string | undefined;
  /** A private key for ssh. */
  identity: string | undefined;
  /** How git gets a user name and password. */
  remote?: GitRemote;
  /** The working tree, which may belong to another user than the one git runs as. */
  target: string;
}

/** Runs git. @returns standard output. @throws StateFailure with the error message of git */
export type Git = (args: readonly string[], cwd?: string) => Promise<string>;

/** @throws StateFailure when git is not installed; SvcError when the user does not exist */
export async function openGit(
  { user, identity, remote, target }: GitWish,
  context: StateContext,
): Promise<Git> {
  const { clock, signal } = context;
  if (Bun.which("git", { PATH: programPath }) === null) {
    throw new StateFailure("git is not installed on this host; install it in an earlier state");
  }
  const account = user === undefined ? undefined : await findAccount(user, context);
  const argv = ["git", ...[...settings, `safe.directory=${target}`].flatMap((setting) => ["-c", setting])];
  argv.push(...(remote?.options ?? []));
  const env = {
    ...cleanEnvironment(account),
    ...remote?.env,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    SSH_ASKPASS: "/bin/false",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_ALLOW_PROTOCOL: "https:http:ssh:git:file",
    GIT_SSH_COMMAND: sshCommand(identity),
  };
  return async (args, cwd = "/") => {
    const { code, stdout, stderr, stopped } = await runProcess({
      argv: [...argv, ...args],
      env,
      cwd,
      timeoutMs,
      outputLimit,
      clock,
      signal,
      ...defined({ account }),
    });
    if (stopped === "aborted") signal.throwIfAborted();
    if (code === 0) return stdout.text;
    const why =
      stopped === "timeout" ? `took longer than ${timeoutMs / 60_000} minutes` : reasonIn(stderr.text, code);
    throw new StateFailure(`git ${args[0]}: ${why}`);
  };
}

/** Returns a URL without its user name and password, which may be secret. */
export function shownUrl(url: string): string {
  return beginningOf(url.replace(/:\/\/[^/@\s]*@/g, "://"), 300);
}

function sshCommand(identity: string | undefined): string {
  const key = identity === undefined ? [] : ["IdentitiesOnly=yes", `IdentityFile="${identity}"`];
  const options = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ConnectTimeout=20",
    "ForwardAgent=no",
    ...key,
  ];
  return ["ssh", "-x", ...options.flatMap((option) => ["-o", option])]
    .map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    .join(" ");
}

/** Returns the most informative line of git's error output. */
function reasonIn(stderr: string, code: number): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const line = lines.find((text) => /^(?:fatal|error|ssh|Host key|.*[Pp]ermission denied)/.test(text));
  return shownUrl(line ?? lines.at(-1) ?? `exit code ${code}`);
}
