import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import { atLine } from "../../base/place.ts";
import type {
  CallArgs,
  CallContext,
  EndedRun,
  StateResult,
  StatesCaller,
  StatesRequest,
  StatesService,
} from "../../host/modules/mod.ts";
import type { FileSource, SnapshotSource, WantedSnapshot } from "../files/mod.ts";
import type { HostAccess } from "../host-functions/mod.ts";
import type { CompiledStates, CompileOptions } from "../language/mod.ts";
import type { Compat, Templates } from "../template/mod.ts";
import type { StateResult as EngineResult } from "./result.ts";
import type { RunOptions } from "./run.ts";
import type { RunLock } from "./run-lock.ts";

/** The source of state files. */
export interface StateSources {
  /**
   * @param environment `base` when absent
   * @param wanted a commit, in hexadecimal and perhaps abbreviated, or the digest of exactly these files
   * @throws SvcError `not_found`, `unavailable`
   */
  open(environment: string | undefined, wanted: WantedSnapshot, signal: AbortSignal): Promise<OpenedFiles>;
}

export type OpenedFiles = FileSource & Partial<Pick<SnapshotSource, "snapshot" | "origin">>;

export interface StatesServiceDeps {
  /** Encoded. */
  peelId: string;
  sources: StateSources;
  lock: RunLock;
  /** The environment of functions that states call, in addition to these states. */
  context(signal: AbortSignal): Omit<CallContext, "states">;
  clock: Clock;
  /** Returns a number in [0, 1), used to spread retries. */
  jitter: () => number;
  random: Random;
  /** How templates and arguments are read. */
  compat: Compat;
  /** What templates may do on this host. */
  hostAccess: HostAccess;
  /**
   * Called with each run that ended, also one whose files cannot be compiled, before another one can begin. Not called
   * for what found no files, or was refused.
   */
  onEnd?(run: EndedRun): void;
}

/**
 * Creates the states service of this host. The engine is loaded on first use, so that a peel that never runs
 * states stays small.
 */
export function createStatesService(deps: StatesServiceDeps): StatesService {
  /** A state may run states itself, so this service is among what it finds. */
  const contextOf = ({ signal }: StatesCaller): CallContext => ({
    ...deps.context(signal),
    signal,
    states: service,
  });
  const open = createOpening(deps);
  const service: StatesService = {
    run: (request, caller) =>
      deps.lock.hold(nameOf(request), () => runOnce(deps, open, request, caller, contextOf(caller))),

    async show(what, request, caller) {
      const { files, options } = await open(request, contextOf(caller));
      if (what === "top") {
        const { assignedStates } = await import("../language/mod.ts");
        return { [files.environment]: await assignedStates(options) };
      }
      const { states } = await compile(request, options);
      return states.map(shown);
    },

    async functions() {
      const { stateRegistry } = await import("../functions/mod.ts");
      return stateRegistry.all();
    },
  };
  return service;
}

type Open = ReturnType<typeof createOpening>;

/** Opens state files for a run, with what their templates find. */
function createOpening(deps: StatesServiceDeps) {
  let templates: Templates | undefined;
  return async (request: StatesRequest, context: CallContext) => {
    const { settings, facts, signal } = context;
    if (!settings.resolved) throw new SvcError("unavailable", `states are not run: ${settings.reason}`);
    const [files] = await Promise.all([
      deps.sources.open(request.environment, { commit: request.commit, snapshot: request.snapshot }, signal),
      facts.ready,
    ]);
    const { createTemplates } = await import("../template/mod.ts");
    const { openHostFunctions } = await import("../host-functions/mod.ts");
    templates ??= createTemplates();
    const host = openHostFunctions({ access: deps.hostAccess, context, random: deps.random });
    const options: CompileOptions = {
      files,
      templates,
      facts: facts.items(),
      settings: settings.current(),
      ...defined({ shownSettings: settings.shown?.() }),
      labels: settings.labels(),
      peelId: deps.peelId,
      compat: deps.compat,
      opts: { test: request.test === true },
      host,
    };
    return { files, options, host };
  };
}

async function runOnce(
  deps: StatesServiceDeps,
  open: Open,
  request: StatesRequest,
  caller: StatesCaller,
  context: CallContext,
) {
  const { clock } = deps;
  const startedAt = clock.now();
  const started = clock.monotonic();
  const { files, options, host } = await open(request, context);
  const test = request.test === true;
  const end = (ended: Pick<EndedRun, "states" | "not_run" | "stopped" | "problems">) =>
    deps.onEnd?.({
      ...defined({ origin: caller.origin }),
      ...{ startedAt, environment: files.environment, ...filesRun(files), test },
      duration_ms: Math.round(clock.monotonic() - started),
      ...ended,
    });
  const compiled = await compile(request, options, (problems) => {
    if (!caller.signal.aborted) end({ states: [], not_run: 0, problems });
  });
  const { runStates } = await import("./run.ts");
  const report = await runStates(compiled, {
    ...context,
    test,
    jitter: deps.jitter,
    call: (name, args) => callFunction(name, args, context),
    ...progressOf(caller, compiled.states.length),
  });
  const { stopped, summary } = report;
  end({ states: report.states, not_run: summary.not_run, ...defined({ stopped }) });
  return {
    states: report.states.map(shownResult),
    environment: files.environment,
    ...filesRun(files),
    test,
    duration_ms: Math.round(clock.monotonic() - started),
    ...defined({ stopped }),
    not_run: summary.not_run,
    ...(await warningsOf(compiled)),
    ...(host.calls.size === 0 ? {} : { host_calls: Object.fromEntries(host.calls) }),
  };
}

/** @throws SvcError with all problems, each with an excerpt; `onProblems` gets them first */
async function compile(
  request: StatesRequest,
  options: CompileOptions,
  onProblems: (problems: NonNullable<EndedRun["problems"]>) => void = () => {},
): Promise<CompiledStates> {
  try {
    return await compileAny(request, options);
  } catch (thrown) {
    const { formatProblems, StateErrors } = await import("../function/mod.ts");
    if (!(thrown instanceof StateErrors)) throw thrown;
    onProblems(thrown.problems);
    throw new SvcError("bad_request", formatProblems(thrown.problems).trimEnd(), { cause: thrown });
  }
}

async function compileAny(request: StatesRequest, options: CompileOptions): Promise<CompiledStates> {
  const { compileSingle, compileStates } = await import("../language/mod.ts");
  if (request.single === undefined) return compileStates(options, request.mods ?? "highstate");
  const { readTexts } = await import("./read-texts.ts");
  const { function: called, args } = request.single;
  return compileSingle(options, { ...request.single, args: await readTexts(called, args) });
}

/** A compiled state as shown to the caller. */
function shown({
  id,
  sls,
  function: called,
  name,
  args,
  file,
  line,
  requisites,
}: CompiledStates["states"][number]) {
  return {
    id,
    function: called,
    name,
    args,
    sls,
    at: atLine(file, line),
    ...(requisites.length === 0
      ? {}
      : { requisites: requisites.map(({ kind, label }) => ({ [kind]: label })) }),
  } satisfies Plain;
}

function shownResult({
  file,
  line,
  sls: _,
  started_at: __,
  order: ___,
  ...result
}: EngineResult): StateResult {
  return { ...result, ...(file === "" ? {} : { at: atLine(file, line) }) };
}

/** Reports the progress of the run to the caller before each state. */
function progressOf({ progress }: StatesCaller, planned: number): Pick<RunOptions, "onStart" | "onProgress"> {
  if (progress === undefined) return {};
  let done = 0;
  let failed = 0;
  return {
    onStart({ function: called, name }) {
      progress({ done, total: Math.max(done + 1, planned), failed, current: `${called} ${name}` });
    },
    onProgress({ result }) {
      done++;
      if (result === false) failed++;
    },
  };
}

async function callFunction(name: string, args: CallArgs, context: CallContext): Promise<Plain> {
  const { checkCall } = await import("../../host/modules/mod.ts");
  return checkCall(name, args).run(args, context);
}

const shownWarnings = 20;

async function warningsOf({ warnings }: CompiledStates): Promise<{ warnings?: string[] }> {
  if (warnings.length === 0) return {};
  const { headline } = await import("../function/mod.ts");
  return { warnings: warnings.slice(0, shownWarnings).map(headline) };
}

/** What ran: the digest of the files, and their commit when they come from a single one. */
function filesRun({ origin, snapshot }: OpenedFiles): { commit?: string; snapshot?: string } {
  const [first, ...more] = origin?.commits ?? [];
  const commit = more.length > 0 ? undefined : first?.commit;
  return defined({ commit, snapshot });
}

function nameOf({ mods, single, test }: StatesRequest): string {
  const name =
    single !== undefined
      ? `state.single ${single.function}`
      : mods === undefined
        ? "state.highstate"
        : `state.sls ${mods.join(",")}`;
  return test === true ? `${name} test=true` : name;
}
