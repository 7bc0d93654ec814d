import type { Plain } from "../../base/msgpack.ts";

/** Which states, and of which files. */
export interface StatesRequest {
  /** Names of states such as `web.tls`, in order; absent is the highstate, what the top file assigns. */
  mods?: readonly string[];
  /** One declaration, instead of states in files. */
  single?: { function: string; name: string; args: Readonly<Record<string, Plain>> };
  /** `base` when absent. */
  environment?: string;
  /** The commit whose files are used, in hexadecimal; absent is what the environment holds now. */
  commit?: string;
  /** Only tell what would change. */
  test?: boolean;
}

/** What became of one declared state. */
export interface StateResult {
  /** The id of its declaration. */
  id: string;
  /** `file.managed` */
  function: string;
  /** What it is about: `name`, or else the id. */
  name: string;
  /** Where it is declared, in the rendered text: `web/init.sls:12`; absent for a single state. */
  at?: string;
  /** `null` in a test run for what would change. */
  result: boolean | null;
  changes: Readonly<Record<string, Plain>>;
  comment: string;
  duration_ms: number;
  /** Why it was not looked at. */
  skipped?: "requisite" | "unless" | "onlyif";
}

/** How a run went, state by state in the order they were run. */
export interface StatesRun {
  states: readonly StateResult[];
  environment: string;
  /** The commit of the files, when they come from one. */
  commit?: string;
  test: boolean;
  duration_ms: number;
  /** Why the run ended before its last state. */
  stopped?: "failhard" | "cancelled";
  /** States that never got their turn because of that. */
  not_run: number;
}

/** Runs and shows the states of this host. */
export interface StatesService {
  /**
   * Applies states, or with `test` tells what would change. Files that were never synced, and settings that
   * were never resolved, are waited for a while.
   *
   * @throws SvcError `conflict` naming the run that is under way; `unavailable` without files or settings;
   *   `bad_request` with file and line when the states cannot be compiled
   */
  run(request: StatesRequest, caller: StatesCaller): Promise<StatesRun>;
  /** What the files say after rendering: the states a request means, or what the top file assigns. */
  show(what: "states" | "top", request: StatesRequest, caller: StatesCaller): Promise<Plain>;
}

/** Who asks for states. */
export interface StatesCaller {
  /** Ends the run before the next state, and what the current one runs. */
  signal: AbortSignal;
  progress?(progress: CallProgress): void;
}

/** How far a call is that takes long. */
export interface CallProgress {
  done: number;
  total: number;
  failed: number;
  /** What runs now, in a few words. */
  current: string;
}
