import type { Plain } from "../../base/msgpack.ts";

/** A request for states. */
export interface StatesRequest {
  /** Names of states such as `web.tls`, in order; absent for the highstate, which the top file assigns. */
  mods?: readonly string[];
  /** A single state, instead of states in files. */
  single?: { function: string; name: string; args: Readonly<Record<string, Plain>> };
  /** `base` when absent. */
  environment?: string;
  /** The commit of the files, in hexadecimal; absent for the newest snapshot of the environment. */
  commit?: string;
  /** The digest of exactly the files to use, whatever their environment has now. */
  snapshot?: string;
  /** Only report what would change. */
  test?: boolean;
}

/** The result of one state. */
export interface StateResult {
  /** The id of its declaration. */
  id: string;
  /** `file.managed` */
  function: string;
  /** The object of the state: `name`, or else the id. */
  name: string;
  /** Where it is declared, in the rendered text: `web/init.sls:12`; absent for a single state. */
  at?: string;
  /** `null` in a test run for a state that would change. */
  result: boolean | null;
  changes: Readonly<Record<string, Plain>>;
  comment: string;
  duration_ms: number;
  /** Why it was not run. */
  skipped?: "requisite" | "unless" | "onlyif" | "creates";
}

/** The result of a run, with states in execution order. */
export interface StatesRun {
  states: readonly StateResult[];
  environment: string;
  /** The commit of the files, when they come from a single one. */
  commit?: string;
  /** The digest of the files; absent for those of a directory on this host. */
  snapshot?: string;
  test: boolean;
  duration_ms: number;
  /** Why the run ended early. */
  stopped?: "failhard" | "cancelled";
  /** Number of states that were not reached because of that. */
  not_run: number;
  /** What the files say that may not be meant: `web.sls:3: …`. */
  warnings?: readonly string[];
  /** How often templates called each function that looks at the host. */
  host_calls?: Readonly<Record<string, number>>;
}

/** What a run of states began for. */
export const runTriggers = ["job", "schedule", "startup", "call"] as const;
export type RunTrigger = (typeof runTriggers)[number];

/** Who began a run. */
export interface RunOrigin {
  trigger: RunTrigger;
  /** The job, or the run of the schedule. */
  jid?: string;
}

/** A state of a run that ended, with the place of its declaration; a single state has the file `""`. */
export type EndedState = Omit<StateResult, "at"> & { file: string; line: number };

/** A run of states that ended, or one whose files cannot be compiled. */
export interface EndedRun {
  /** Absent for a run that nobody but a person at this host began. */
  origin?: RunOrigin;
  /** When it began, milliseconds since the Unix epoch. */
  startedAt: number;
  duration_ms: number;
  environment: string;
  /** The commit of the files, when they come from a single one. */
  commit?: string;
  /** The digest of the files; absent for those of a directory on this host. */
  snapshot?: string;
  test: boolean;
  states: readonly EndedState[];
  /** Number of states that were not reached. */
  not_run: number;
  stopped?: "failhard" | "cancelled";
  /** Why nothing ran: what is wrong in the files. */
  problems?: readonly { file?: string; line?: number; message: string }[];
}

/** Runs and shows the states of this host. */
export interface StatesService {
  /**
   * Applies states or, with `test`, reports what would change. Waits for a limited time for files that were
   * never synced and settings that were never resolved.
   *
   * @throws SvcError `conflict` naming the active run; `unavailable` without files or settings; `bad_request`
   *   with file and line when the states cannot be compiled
   */
  run(request: StatesRequest, caller: StatesCaller): Promise<StatesRun>;
  /** Returns rendered files: the states of a request, or the assignments of the top file. */
  show(what: "states" | "top", request: StatesRequest, caller: StatesCaller): Promise<Plain>;
  /** The functions that states can use. */
  functions?(): Promise<readonly DescribedState[]>;
}

/** A state function, as far as it is described to people. */
export interface DescribedState {
  name: string;
  doc: string;
  args: Readonly<Record<string, { type: string; doc: string }>>;
}

/** The caller of the states service. */
export interface StatesCaller {
  /** Ends the run before the next state, and aborts the current one. */
  signal: AbortSignal;
  progress?(progress: CallProgress): void;
  /** For what the run began; absent where a person runs a function on this host. */
  origin?: RunOrigin;
}

/** The progress of a long call. */
export interface CallProgress {
  done: number;
  total: number;
  failed: number;
  /** The current step, in a few words. */
  current: string;
}
