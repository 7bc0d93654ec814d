import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { arg, define } from "./define.ts";
import { type CallContext, type FilesOfCall, FunctionFailure, type ModuleFunction } from "./function.ts";
import { maxReturnBytes, statesReturn, summaryOf } from "./state-return.ts";
import type { StatesRequest, StatesService } from "./states-service.ts";

const from = {
  saltenv: arg.string("Environment of the state files; base by default."),
  environment: arg.string("Alias of saltenv."),
  commit: arg.string(
    "Uses the files of this commit of the environment instead of the newest one; in hexadecimal.",
  ),
} as const;
const test = arg.boolean("Only reports what would change, with the same differences; false by default.");
const mods = arg.strings("Names of states, in order, such as web,web.tls.");
const required = { ...mods, required: true } as const;

/** Functions that apply and show states. */
export const stateFunctions: readonly ModuleFunction[] = [
  define({
    name: "state.apply",
    plainArgs: true,
    doc: "Applies the named states or, without names, the highstate: everything that the top file assigns to the peel.",
    args: {
      mods: { ...mods, doc: `${mods.doc} Without names, the highstate is applied.` },
      test,
      ...from,
    },
    files: filesOf,
    refuse: filesProblem,
    run: (args, context) => run(context, { ...namesOf(args.mods), ...where(args, context) }),
  }),
  define({
    name: "state.highstate",
    plainArgs: true,
    doc: "Applies everything that the top file assigns to the peel.",
    args: { test, ...from },
    files: filesOf,
    refuse: filesProblem,
    run: (args, context) => run(context, where(args, context)),
  }),
  define({
    name: "state.sls",
    plainArgs: true,
    doc: "Applies the named states.",
    args: { mods: required, test, ...from },
    files: filesOf,
    refuse: (args) =>
      args.mods?.length === 0
        ? "mods: expected at least one state; use state.highstate to apply all"
        : filesProblem(args),
    run: (args, context) => run(context, { mods: args.mods ?? [], ...where(args, context) }),
  }),
  define({
    name: "state.single",
    doc: "Applies a single state that is not declared in a file, given by its function, its name and its arguments as key=value.",
    args: {
      fun: arg.string("State function, such as file.managed.", { required: true }),
      name: arg.string("Name of the state, such as /etc/motd.", { required: true }),
      test,
      ...from,
      args: arg.map("Other arguments; on a command line each may be written as key=value."),
    },
    openArgs: "args",
    files: filesOf,
    refuse: filesProblem,
    run: (args, context) =>
      run(context, {
        single: { function: args.fun ?? "", name: args.name ?? "", args: args.args ?? {} },
        ...where(args, context),
      }),
  }),
  define({
    name: "state.show_sls",
    doc: "Shows the named states as rendered for this peel, without inspecting the host.",
    args: { mods: required, ...from },
    files: filesOf,
    refuse: filesProblem,
    run: (args, context) =>
      service(context).show("states", { mods: args.mods ?? [], ...where(args, context) }, context),
  }),
  define({
    name: "state.show_highstate",
    doc: "Shows the states of the highstate as rendered for this peel, in execution order.",
    args: from,
    files: filesOf,
    refuse: filesProblem,
    run: (args, context) => service(context).show("states", where(args, context), context),
  }),
  define({
    name: "state.show_top",
    doc: "Shows which states the top file assigns to this peel.",
    args: from,
    files: filesOf,
    refuse: filesProblem,
    run: (args, context) => service(context).show("top", where(args, context), context),
  }),
];

interface From {
  saltenv?: string | undefined;
  environment?: string | undefined;
  commit?: string | undefined;
  test?: boolean | undefined;
}

/** What is wrong with the arguments that say which files are meant. */
export function filesProblem({ saltenv, environment, commit }: From): string | undefined {
  if (saltenv !== undefined && environment !== undefined && saltenv !== environment) {
    return "saltenv and environment are aliases: give only one of them";
  }
  if (commit !== undefined && !/^[0-9a-f]{7,64}$/i.test(commit)) {
    return "commit: expected 7 to 64 hexadecimal digits";
  }
  return undefined;
}

function filesOf({ saltenv, environment = saltenv, commit }: From): FilesOfCall {
  return { environment: environment ?? "base", ...defined({ commit: commit?.toLowerCase() }) };
}

/** @throws SvcError `bad_request` when the job was accepted for files of another environment */
function where({ test: isTest, ...from }: From, { content }: CallContext): StatesRequest {
  const meant = filesOf(from);
  if (content === undefined) return { ...meant, ...defined({ test: isTest }) };
  const { environment, snapshot } = content;
  if (environment === meant.environment) return { environment, snapshot, ...defined({ test: isTest }) };
  throw new SvcError(
    "bad_request",
    `the job was accepted for files of ${environment}, and ${meant.environment} was requested`,
  );
}

/** No names, or the name `highstate`, mean the highstate. */
function namesOf(given: readonly string[] = []): StatesRequest {
  return given.length === 0 || (given.length === 1 && given[0] === "highstate") ? {} : { mods: given };
}

function service({ states }: CallContext): StatesService {
  if (states !== undefined) return states;
  throw new SvcError("unavailable", "states cannot be run here: this program has no state files");
}

async function run(context: CallContext, request: StatesRequest) {
  const ended = await service(context).run(request, context);
  const value = statesReturn(ended, context.unbounded === true ? Number.POSITIVE_INFINITY : maxReturnBytes);
  const { failed } = summaryOf(ended);
  if (failed === 0 && ended.stopped === undefined) return value;
  const planned = ended.states.length + ended.not_run;
  const problem = failed === 0 ? `stopped after ${ended.states.length}` : `${failed}`;
  throw new FunctionFailure(`${problem} of ${planned} states${failed === 0 ? "" : " failed"}`, value, 2);
}
