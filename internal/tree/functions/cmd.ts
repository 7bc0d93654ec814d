import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/file.ts";
import type { Plain } from "../../base/msgpack.ts";
import { openDirectory } from "../../base/opened-directory.ts";
import { createPrivateDirectory } from "../../base/private-directory.ts";
import { findAccount } from "../../base/process/account.ts";
import { replaceEntry, writeWhole } from "../../base/replace-entry.ts";
import { type ArgSpec, FunctionFailure, type ValuesOf } from "../../host/modules/mod.ts";
import {
  type Changes,
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../function/mod.ts";
import { findHash } from "./find-hash.ts";
import { findSource, refuseSource } from "./source.ts";
import { sourceHashArgs, warnOfHash } from "./source-hash.ts";
import { unchanged } from "./steps.ts";

const commandArgs = {
  cwd: { type: "path", doc: "Directory to run in; / by default." },
  runas: { type: "string", doc: "Name or uid of the user to run as; the user of the peel by default." },
  shell: { type: "path", doc: "The shell that reads the command line; /bin/sh by default." },
  env: { type: "any", doc: "Variables to add to the clean environment: a map, or a list of maps." },
  umask: { type: "mode", doc: "Umask of the command; that of the peel by default." },
  stdin: { type: "string", doc: "Standard input of the command; empty by default." },
  timeout: { type: "any", doc: "Stops the command after this duration, such as 90s; a number is seconds." },
  creates: { type: "strings", doc: "Does not run the command if all of these paths exist." },
  success_retcodes: { type: "any", doc: "Additional exit codes that count as success: a list of integers." },
  hide_output: { type: "boolean", doc: "Omits the output of the command from the result; false by default." },
} as const satisfies Record<string, ArgSpec>;

const scriptArgs = {
  source: {
    type: "strings",
    doc: "Source of the script: svc://path, salt://path, an absolute path or https://…; name by default.",
  },
  ...sourceHashArgs,
  args: { type: "string", doc: "Arguments of the script, parsed by a shell." },
  template: { type: "string", values: ["jinja"], doc: "Renders the script with facts and settings." },
  context: { type: "map", doc: "Variables of the template." },
} as const satisfies Record<string, ArgSpec>;

type CommandArgs = ValuesOf<typeof commandArgs>;

/**
 * States that run commands. They always report a change, unless `creates`, `unless` or `onlyif` prevent the
 * run.
 */
export const cmdStates: readonly StateFunction[] = [
  defineState({
    name: "cmd.run",
    doc: "Runs a command line in a shell. It must exit with 0.",
    args: commandArgs,
    refuse: refuseCommand,
    plan: (name, args, context) => planCommand(name, args, context),
  }),
  defineState({
    name: "cmd.wait",
    doc: "Runs a command line only if a watched state has changed.",
    args: commandArgs,
    refuse: refuseCommand,
    plan: () => unchanged("no watched state has changed"),
    onWatch: (name, args, context) => planCommand(name, args, context),
  }),
  defineState({
    name: "cmd.script",
    doc: "Runs a script from the state files. It must exit with 0.",
    args: { ...commandArgs, ...scriptArgs },
    refuse: (args) =>
      refuseCommand(args) ?? refuseSource(args.source ?? [], args.source_hash, args.skip_verify),
    warn: warnOfHash,
    async plan(name, args, context) {
      if (areThere(args.creates)) return unchanged(createsComment(args.creates));
      const names = args.source ?? [name];
      if (args.source === undefined) refuseNameAsSource(name, args.source_hash, args.skip_verify);
      const source = findSource(names, await findHash(args, names, context), context);
      return commandPlan(name, async () => {
        const bytes = await source.content.bytes();
        const text =
          args.template === undefined
            ? bytes
            : await context.render(
                { name: source.name, text: new TextDecoder().decode(bytes) },
                args.context ?? {},
              );
        return withScript(text, args.runas, context, (file) =>
          runCommand(`${file}${args.args === undefined ? "" : ` ${args.args}`}`, args, context),
        );
      });
    },
  }),
];

function refuseCommand({ env, timeout, success_retcodes: codes }: CommandArgs): string | undefined {
  if (env !== undefined && environmentOf(env) === undefined) {
    return "env: expected a map of names to strings, or a list of such maps";
  }
  if (timeout !== undefined && timeoutOf(timeout) === undefined) {
    return "timeout: expected a duration such as 90s, or a number of seconds";
  }
  if (codes === undefined || (Array.isArray(codes) && codes.every(Number.isSafeInteger))) return undefined;
  return "success_retcodes: expected a list of integers";
}

function refuseNameAsSource(name: string, hash: string | undefined, unverified?: boolean): void {
  const problem = refuseSource([name], hash, unverified);
  if (problem !== undefined) throw new StateFailure(problem);
}

function planCommand(command: string, args: CommandArgs, context: StateContext): Plan {
  if (areThere(args.creates)) return unchanged(createsComment(args.creates));
  return commandPlan(command, () => runCommand(command, args, context));
}

function commandPlan(command: string, run: () => Promise<Changes>): Plan {
  return {
    changes: { run: command },
    comment: `would run: ${command}`,
    apply: async () => ({ changes: await run(), comment: `ran: ${command}` }),
  };
}

/** @throws StateFailure when the command fails, with its output */
async function runCommand(command: string, args: CommandArgs, context: StateContext): Promise<Changes> {
  const { cwd, runas, shell = "/bin/sh", env, umask, stdin, timeout, success_retcodes: codes } = args;
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
  const shown = (value: Plain): Changes => {
    const { pid, retcode, stdout, stderr } = value as Changes;
    const said = args.hide_output === true ? {} : { stdout: stdout ?? "", stderr: stderr ?? "" };
    return { pid: pid ?? null, retcode: retcode ?? null, ...said };
  };
  try {
    return shown(await context.call("cmd.run", call));
  } catch (thrown) {
    if (!(thrown instanceof FunctionFailure)) throw thrown;
    const accepted = Array.isArray(codes) && codes.includes(thrown.retcode);
    if (accepted && thrown.message === `exited with ${thrown.retcode}`) return shown(thrown.value);
    throw new StateFailure(`the command ${thrown.message}`, shown(thrown.value), { cause: thrown });
  }
}

/** Runs a function with a temporary file of this content, which only the user of the command can read. */
async function withScript<Value>(
  content: string | Uint8Array,
  runas: string | undefined,
  { clock, signal }: StateContext,
  run: (file: string) => Promise<Value>,
): Promise<Value> {
  const account = runas === undefined ? undefined : await findAccount(runas, { clock, signal });
  const owner = { uid: account?.uid, gid: account?.gid };
  using parent = openDirectory(tmpdir());
  using own = createPrivateDirectory(parent, "svc-script");
  // The command gets a path, which nobody else may be able to replace.
  if (!parent.isFixed(own.directory.own)) {
    throw new SvcError(
      "forbidden",
      `TMPDIR: another user can change ${parent.path}; use a directory of root`,
    );
  }
  try {
    await replaceEntry(own.directory, "script", {
      attributes: { ...owner, mode: 0o700 },
      fill: (file) => writeWhole(file, Buffer.from(content)),
    });
    // The command runs as this user, in the directory that only it and root can enter.
    parent.changeOwner(own.name, owner.uid ?? -1, owner.gid ?? -1);
  } catch (cause) {
    throw new SvcError("storage", `cannot write ${own.directory.path}: ${reasonOf(cause)}`, { cause });
  }
  return await run(`${own.directory.path}/script`);
}

function areThere(paths: readonly string[] | undefined): boolean {
  return paths?.every((path) => existsSync(path)) === true;
}

function createsComment(paths: readonly string[] = []): string {
  return `not run: ${paths.join(", ")} ${paths.length === 1 ? "exists" : "exist"}`;
}

function environmentOf(env: Plain): { [name: string]: Plain } | undefined {
  const maps = Array.isArray(env) ? env : [env];
  const isMap = (each: Plain) =>
    typeof each === "object" && each !== null && !Array.isArray(each) && !(each instanceof Uint8Array);
  return maps.every(isMap) ? Object.assign({}, ...maps) : undefined;
}

function timeoutOf(timeout: Plain): string | undefined {
  if (typeof timeout === "number") return timeout > 0 ? `${Math.ceil(timeout * 1000)}ms` : undefined;
  if (typeof timeout !== "string") return undefined;
  try {
    parseDuration(timeout);
    return timeout;
  } catch {
    return undefined;
  }
}
