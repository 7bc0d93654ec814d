import { SvcError } from "../../../base/errors.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { FunctionFailure } from "../../../host/modules/mod.ts";
import { type Changes, type StateContext, StateFailure } from "../../function/mod.ts";
import { type CommandArgs, environmentOf, timeoutOf } from "./command-args.ts";
import { isStateful, readStateful, type Said } from "./stateful.ts";

/** What a command changed, and what is said about it. */
export interface Ran {
  changes: Changes;
  comment: string;
}

/**
 * Runs a command line with a shell.
 *
 * @param shown the command as the comment names it
 * @throws StateFailure when the command fails, with its output
 */
export async function runCommand(
  command: string,
  shown: string,
  args: CommandArgs,
  context: StateContext,
): Promise<Ran> {
  const { success_retcodes: codes } = args;
  const comment = `ran: ${shown}`;
  try {
    return ranOf(await context.call("cmd.run", callOf(command, args, context)), comment, args);
  } catch (thrown) {
    if (!(thrown instanceof FunctionFailure)) throw thrown;
    const accepted = Array.isArray(codes) && codes.includes(thrown.retcode);
    if (accepted && thrown.message === `exited with ${thrown.retcode}`)
      return ranOf(thrown.value, comment, args);
    throw failureOf(thrown, args);
  }
}

function callOf(command: string, args: CommandArgs, context: StateContext): { [name: string]: Plain } {
  const { cwd, runas, shell = "/bin/sh", env, umask, stdin, timeout } = args;
  const call: { [name: string]: Plain } = { argv: [shell, "-c", command] };
  if (cwd !== undefined) call.cwd = cwd;
  if (runas !== undefined) call.user = runas;
  const variables = {
    ...Object.fromEntries(context.environment),
    ...(env === undefined ? {} : environmentOf(env)),
  };
  if (Object.keys(variables).length > 0) call.env = variables;
  if (umask !== undefined) call.umask = umask;
  if (stdin !== undefined) call.stdin = stdin;
  if (timeout !== undefined) call.timeout = timeoutOf(timeout) ?? "";
  return call;
}

/** @throws StateFailure when the command had to say what it changed, and did not */
function ranOf(value: Plain, comment: string, args: CommandArgs): Ran {
  if (!isStateful(args.stateful)) return { changes: outputOf(value, args), comment };
  const { stdout, stderr } = textsOf(value);
  if (stdout === "") return { changes: {}, comment: stderr === "" || args.hide_output ? comment : stderr };
  try {
    const said = readStateful(stdout);
    return { changes: changesOf(said, value, args), comment: said.comment ?? comment };
  } catch (thrown) {
    if (thrown instanceof SvcError) throw new StateFailure(thrown.message, outputOf(value, args));
    throw thrown;
  }
}

/** A command that fails may have said before what it changed. */
function failureOf(failure: FunctionFailure, args: CommandArgs): StateFailure {
  const message = `the command ${failure.message}`;
  const { stdout } = textsOf(failure.value);
  if (isStateful(args.stateful) && stdout !== "") {
    try {
      const said = readStateful(stdout);
      const why = said.comment === undefined ? message : `${message}: ${said.comment}`;
      return new StateFailure(why, changesOf(said, failure.value, args), { cause: failure });
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
    }
  }
  return new StateFailure(message, outputOf(failure.value, args), { cause: failure });
}

function changesOf(said: Said, value: Plain, args: CommandArgs): Changes {
  if (!said.changed) return {};
  const output = outputOf(value, args);
  return args.hide_output === true ? output : { ...output, stdout: said.rest, ...said.data };
}

function outputOf(value: Plain, { hide_output: hidden }: CommandArgs): Changes {
  const { pid, retcode, stdout, stderr } = value as Changes;
  const said = hidden === true ? {} : { stdout: stdout ?? "", stderr: stderr ?? "" };
  return { pid: pid ?? null, retcode: retcode ?? null, ...said };
}

function textsOf(value: Plain): { stdout: string; stderr: string } {
  const { stdout, stderr } = value as Changes;
  return { stdout: String(stdout ?? "").trimEnd(), stderr: String(stderr ?? "").trimEnd() };
}
