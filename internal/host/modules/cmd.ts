import { beginningOf, quote } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import type { Plain } from "../../base/msgpack.ts";
import { findAccount, findAccountIfPresent } from "../../base/process/account.ts";
import { cleanEnvironment, programPath } from "../../base/process/environment.ts";
import { type Account, type ProcessResult, runProcess } from "../../base/process/process.ts";
import { arg, define } from "./define.ts";
import { type ArgSpec, type CallContext, FunctionFailure, type ModuleFunction } from "./function.ts";

const commandArgs = {
  command: arg.string("Command line for /bin/sh -c. Give either command or argv."),
  argv: arg.strings("Program and its arguments, run without a shell. Give either argv or command.", {
    data: "words",
  }),
  cwd: arg.path("Directory to run in; / by default."),
  env: arg.map("Variables to add to the clean environment; null removes one.", { data: "variables" }),
  user: arg.string("Name or uid of the user to run as; the user of the peel by default."),
  umask: arg.mode("Umask of the command; that of the peel by default."),
  stdin: arg.string("Standard input of the command; empty by default.", { data: "input" }),
  timeout: arg.duration("Stops the command after this duration, in addition to the timeout of the job."),
} as const satisfies Record<string, ArgSpec>;

interface CommandArgs {
  command: string | undefined;
  argv: string[] | undefined;
  cwd: string | undefined;
  env: { [key: string]: Plain } | undefined;
  user: string | undefined;
  umask: string | undefined;
  stdin: string | undefined;
  timeout: string | undefined;
}

/** Functions that run programs on the host. */
export const cmdFunctions: readonly ModuleFunction[] = [
  define({
    name: "cmd.run",
    doc: "Runs a command and fails if it does not exit with 0.",
    args: commandArgs,
    refuse,
    async run(args, context) {
      const result = await runCommand(args, context);
      const problem = problemOf(result, args.timeout) ?? exitProblem(result);
      if (problem === undefined) return reportOf(result);
      throw new FunctionFailure(problem, reportOf(result), result.code === 0 ? 1 : result.code);
    },
  }),
  define({
    name: "cmd.retcode",
    doc: "Runs a command and returns its exit code. A non-zero exit code is not a failure.",
    args: commandArgs,
    refuse,
    async run(args, context) {
      const result = await runCommand(args, context);
      const problem = problemOf(result, args.timeout);
      if (problem === undefined) return result.code;
      throw new FunctionFailure(problem, result.code, result.code === 0 ? 1 : result.code);
    },
  }),
  define({
    name: "cmd.which",
    doc: "Returns the path of the program that a command name resolves to, or null.",
    args: { name: arg.string("Name of the program.", { required: true }) },
    run: ({ name }) => Bun.which(name, { PATH: programPath, cwd: "/" }),
  }),
];

function refuse({ command, argv, env = {} }: CommandArgs): string | undefined {
  if ((command === undefined) === (argv === undefined)) return "give either command or argv";
  if (command === "") return "command: expected a command line, not an empty string";
  if (argv !== undefined && !argv[0]) return "argv: expected a program as its first item";
  for (const [name, value] of Object.entries(env)) {
    if (!/^[^=\0]+$/.test(name)) return `env: ${quote(name)} is not a valid variable name`;
    if (value !== null && typeof value === "object") {
      return `env: ${beginningOf(name, 80)}: expected a string, a number, true or false, or null to remove it`;
    }
  }
  return undefined;
}

async function runCommand(args: CommandArgs, { clock, signal, output }: CallContext): Promise<ProcessResult> {
  const account = await accountOf(args.user, { clock, signal });
  return runProcess({
    argv: args.argv ?? ["/bin/sh", "-c", args.command ?? ""],
    env: environmentOf(account, args.env ?? {}),
    cwd: args.cwd ?? "/",
    clock,
    signal,
    ...defined({ account }),
    ...(args.umask === undefined ? {} : { umask: Number.parseInt(args.umask, 8) }),
    ...defined({ stdin: args.stdin, onOutput: output }),
    ...(args.timeout === undefined ? {} : { timeoutMs: parseDuration(args.timeout) }),
  });
}

/** The account that the command runs as; a peel in a container may have a uid without an account. */
function accountOf(
  user: string | undefined,
  deps: Pick<CallContext, "clock" | "signal">,
): Promise<Account | undefined> {
  return user === undefined ? findAccountIfPresent(`${process.getuid?.()}`, deps) : findAccount(user, deps);
}

function environmentOf(account: Account | undefined, added: Record<string, Plain>): Record<string, string> {
  const all = Object.entries<Plain>({ ...cleanEnvironment(account), ...added });
  return Object.fromEntries(all.flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]])));
}

/** Why the command was stopped, or `undefined`. */
function problemOf(
  { stopped, code, killedBy }: ProcessResult,
  timeout: string | undefined,
): string | undefined {
  if (stopped === undefined) return undefined;
  const how = killedBy === undefined ? `exited with ${code}` : `ended by ${killedBy}`;
  return stopped === "timeout" ? `stopped after ${timeout}: ${how}` : `stopped with its job: ${how}`;
}

function exitProblem({ code, killedBy }: ProcessResult): string | undefined {
  if (killedBy !== undefined) return `killed by ${killedBy}`;
  return code === 0 ? undefined : `exited with ${code}`;
}

function reportOf({ pid, code, killedBy, stdout, stderr }: ProcessResult): Plain {
  return {
    pid,
    retcode: code,
    ...defined({ signal: killedBy }),
    stdout: stdout.text,
    stderr: stderr.text,
  };
}
