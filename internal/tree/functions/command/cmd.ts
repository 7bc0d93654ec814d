import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { SvcError } from "../../../base/errors.ts";
import { reasonOf } from "../../../base/files/file.ts";
import { openDirectory } from "../../../base/files/opened-directory.ts";
import { createPrivateDirectory } from "../../../base/files/private-directory.ts";
import { replaceEntry, writeWhole } from "../../../base/files/replace-entry.ts";
import { findAccount } from "../../../base/process/account.ts";
import { type ArgSpec, arg, type ValuesOf } from "../../../host/modules/mod.ts";
import {
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { findHash } from "../sources/find-hash.ts";
import { findSource, refuseSource } from "../sources/source.ts";
import { sourceHashArgs, warnOfHash } from "../sources/source-hash.ts";
import { environmentVariables } from "../sources/template-variables.ts";
import { unchanged } from "../steps.ts";
import { type CommandArgs, commandArgs, environmentOf, timeoutOf } from "./command-args.ts";
import { type Ran, runCommand } from "./run-command.ts";
import { refuseStateful, testNameOf } from "./stateful.ts";

const scriptArgs = {
  source: arg.strings(
    "Source of the script: svc://path, salt://path, an absolute path or https://…; the first word of name by default.",
  ),
  ...sourceHashArgs,
  args: arg.string(
    "Arguments of the script, parsed by a shell; by default the words of name after the first, with source only in trees of Salt.",
  ),
  template: arg.string("Renders the script with facts and settings.", { values: ["jinja"] }),
  context: arg.map("Variables of the template."),
  defaults: arg.map("Variables of the template that context can override."),
} as const satisfies Record<string, ArgSpec>;

type ScriptArgs = ValuesOf<typeof commandArgs & typeof scriptArgs>;
type Source = ReturnType<typeof findSource>;

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
      refuseCommand(args) ??
      refuseRehearsal(args) ??
      refuseSource(args.source ?? [], args.source_hash, args.skip_verify),
    warn: warnOfHash,
    async plan(name, args, context) {
      if (areThere(args.creates)) return unchanged(createsComment(args.creates));
      const { script, words } = await findScript(name, args, context);
      const testName = testNameOf(args.stateful);
      // The command of a test run is the script with other arguments, or another script.
      const rehearsal = testName === undefined ? undefined : await findRehearsal(testName, args, context);
      return {
        ...commandPlan(name, () => runScript(name, script, words, args, context)),
        ...(rehearsal === undefined || testName === undefined
          ? {}
          : { rehearse: () => runScript(testName, rehearsal.script, rehearsal.args, args, context) }),
      };
    },
  }),
];

function refuseCommand({ env, timeout, stateful, success_retcodes: codes }: CommandArgs): string | undefined {
  if (env !== undefined && environmentOf(env) === undefined) {
    return "env: expected a map of names to strings, or a list of such maps";
  }
  if (timeout !== undefined && timeoutOf(timeout) === undefined) {
    return "timeout: expected a duration such as 90s, or a number of seconds";
  }
  const problem = refuseStateful(stateful);
  if (problem !== undefined) return problem;
  if (codes === undefined || (Array.isArray(codes) && codes.every(Number.isSafeInteger))) return undefined;
  return "success_retcodes: expected a list of integers";
}

/** Without arguments of its own, a test run would do what a run does. */
function refuseRehearsal({ source, stateful }: ScriptArgs): string | undefined {
  const testName = testNameOf(stateful);
  if (testName === undefined || source === undefined || /\s\S/.test(testName)) return undefined;
  return "stateful: test_name runs the same source, so it must contain arguments: the name of the script, and --test";
}

function refuseNameAsSource(name: string, hash: string | undefined, unverified?: boolean): void {
  const problem = refuseSource([name], hash, unverified);
  if (problem !== undefined) throw new StateFailure(problem);
}

function planCommand(command: string, args: CommandArgs, context: StateContext): Plan {
  if (areThere(args.creates)) return unchanged(createsComment(args.creates));
  const testName = testNameOf(args.stateful);
  const run = (line: string) => runCommand(line, line, args, context);
  return {
    ...commandPlan(command, () => run(command)),
    ...(testName === undefined ? {} : { rehearse: () => run(testName) }),
  };
}

function commandPlan(command: string, run: () => Promise<Ran>): Plan {
  return { changes: { run: command }, comment: `would run: ${command}`, apply: run };
}

/**
 * The script, and its arguments, which may be in the name: `x.sh --all`. With a source of its own, the name is often
 * an id of several words, so only in trees of Salt they are arguments.
 */
async function findScript(
  name: string,
  args: ScriptArgs,
  context: StateContext,
): Promise<{ script: Source; words: string | undefined }> {
  const [, first = name, rest] = /^(\S+)\s+(\S[\s\S]*)$/.exec(name) ?? [];
  const given = args.args === "" ? undefined : args.args;
  if (args.source !== undefined) {
    const script = await sourceOf(args.source, args, context);
    return { script, words: given ?? (context.compat === "salt" ? rest : undefined) };
  }
  refuseNameAsSource(first, args.source_hash, args.skip_verify);
  // A file may have a space in its name.
  const isWhole = rest === undefined || /^https?:/.test(name);
  const script = await sourceOf(isWhole ? [first] : [name, first], args, context);
  return { script, words: given ?? (script.name === name ? undefined : rest) };
}

async function sourceOf(names: readonly string[], args: ScriptArgs, context: StateContext): Promise<Source> {
  return findSource(names, await findHash(args, names, context), context);
}

/** The script of a test run, and its arguments: the words after the first of `test_name`. */
async function findRehearsal(
  testName: string,
  args: ScriptArgs,
  context: StateContext,
): Promise<{ script: Source; args?: string }> {
  const [, first = "", rest] = /^(\S+)\s+(\S[\s\S]*)$/.exec(testName) ?? [undefined, testName];
  const { script } = await findScript(first, args, context);
  return { script, ...(rest === undefined ? {} : { args: rest }) };
}

async function runScript(
  name: string,
  script: Source,
  words: string | undefined,
  args: ScriptArgs,
  context: StateContext,
): Promise<Ran> {
  const bytes = await script.content.bytes();
  const text =
    args.template === undefined
      ? bytes
      : await context.render(
          { name: script.name, text: new TextDecoder().decode(bytes) },
          { ...environmentVariables(context), ...args.defaults, ...args.context },
        );
  return withScript(text, args.runas, context, (file) =>
    runCommand(words === undefined ? file : `${file} ${words}`, name, args, context),
  );
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
