import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { findAccount } from "../../base/process/account.ts";
import { cleanEnvironment } from "../../base/process/environment.ts";
import { type ProcessResult, runProcess } from "../../base/process/process.ts";
import { type HostFunction, type HostTools, text } from "./function.ts";
import { splitWords } from "./words.ts";

const parameters = ["cmd", "cwd?", "stdin?", "runas?", "shell?", "python_shell?", "env?"];

const command = (
  name: string,
  doc: string,
  useShell: boolean,
  give: (result: ProcessResult) => Plain,
): HostFunction => ({
  ...{ name, needs: "command", parameters, doc },
  run: async (args, tools) => give(await runCommand(args, useShell, tools)),
});

/** Functions that run a command of the template. */
export const commandFunctions: readonly HostFunction[] = [
  command(
    "cmd.run",
    "Runs a command without a shell, unless python_shell is true, and returns its output.",
    false,
    outputOf,
  ),
  command("cmd.run_stdout", "The same, only its standard output.", false, ({ stdout }) =>
    trimmed(stdout.text),
  ),
  command("cmd.run_stderr", "The same, only its errors.", false, ({ stderr }) => trimmed(stderr.text)),
  command("cmd.shell", "Runs a command in a shell, and returns its output.", true, outputOf),
  command("cmd.retcode", "Runs a command, and returns its exit code.", false, ({ code }) => code),
  command(
    "cmd.run_all",
    "Runs a command, and returns its exit code, its output and its errors.",
    false,
    ({ pid, code, stdout, stderr }) => ({
      ...{ pid, retcode: code, stdout: trimmed(stdout.text), stderr: trimmed(stderr.text) },
    }),
  ),
];

function outputOf({ stdout, stderr }: ProcessResult): string {
  return trimmed(stdout.text + stderr.text);
}

function trimmed(output: string): string {
  return output.replace(/\s+$/, "");
}

async function runCommand(
  args: Readonly<Record<string, Plain>>,
  useShell: boolean,
  { context: { clock, signal } }: HostTools,
): Promise<ProcessResult> {
  const line = args.cmd;
  const isShell = useShell || args.python_shell === true;
  const account =
    args.runas === undefined || args.runas === null
      ? undefined
      : await findAccount(text(args, "runas"), { clock, signal });
  const argv = Array.isArray(line)
    ? line.map(String)
    : isShell
      ? ["/bin/sh", "-c", text(args, "cmd")]
      : splitWords(text(args, "cmd"));
  if (argv.length === 0) throw new SvcError("bad_request", "cmd: expected a command");
  const result = await runProcess({
    ...{ argv, env: { ...cleanEnvironment(account), ...variablesOf(args.env) }, clock, signal },
    cwd: typeof args.cwd === "string" ? args.cwd : "/",
    ...defined({ account, stdin: typeof args.stdin === "string" ? args.stdin : undefined }),
  });
  signal.throwIfAborted();
  return result;
}

/** A map, or a list of maps. */
function variablesOf(env: Plain | undefined): Record<string, string> {
  const maps = Array.isArray(env) ? env : [env];
  const pairs = maps.flatMap((map) =>
    typeof map === "object" && map !== null && !(map instanceof Uint8Array) ? Object.entries(map) : [],
  );
  return Object.fromEntries(pairs.map(([name, value]) => [name, String(value)]));
}
