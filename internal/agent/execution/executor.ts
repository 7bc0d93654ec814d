import type { Clock, Timer } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { CallProgress, RunOrigin, UpgradeService } from "../../host/modules/mod.ts";
import type { Call } from "../../wire/call.ts";
import type { JobReturn } from "../../wire/return.ts";
import { busyReturn, failedReturn } from "./return.ts";

/** Maximum number of mutating calls that are queued or running (specification, "Limits"). */
const queueDepth = 64;
const readOnlyAtOnce = 64;
const readOnlyWaiting = 1024;
/** Timeout for an aborted function to end. After that its return is sent without it. */
const graceMs = 5_000;

/** A call to run, for a job or for the schedule. */
export interface Task {
  /** Id for `cancel` and the log: the jid. */
  id: string;
  call: Call;
  /** For what it runs. */
  origin: RunOrigin;
  /** Milliseconds since the Unix epoch. The call does not start or run after it. Absent means no deadline. */
  deadline?: number;
  /** A queued mutating call starts when this resolves. Until then other calls may overtake it. */
  ready?: Promise<unknown>;
  /** Receives the progress of a long call. */
  progress?(progress: CallProgress): void;
  /** Receives what a command writes. */
  output?(chunk: Uint8Array): void;
  /** Receives the value that the return hides. */
  hidden?(value: Plain): void;
  /** Lets the call upgrade the peel itself. */
  upgrade?: UpgradeService;
}

/** Runs calls: mutating ones one after another, read-only ones concurrently. */
export interface Executor {
  /** Queues and runs a call. Never rejects. If the queue is full, the return has the outcome `busy`. */
  run(task: Task): Promise<JobReturn>;
  /**
   * Cancels a queued or running task, which is reported in its return.
   *
   * @returns `stopping` when the task was cancelled before and has not ended yet
   */
  cancel(id: string): "cancelled" | "stopping" | "unknown";
  isReadOnly(call: Call): boolean;
  /** Whether a mutating call would find the queue full. */
  readonly full: boolean;
  /** Number of mutating calls that are queued or running. */
  readonly queued: number;
  /** Aborts all calls. Resolves when they have ended, or after a timeout. */
  stop(): Promise<void>;
}

export interface ExecutorOptions {
  /** Whether a call is read-only. */
  isReadOnly(call: Call): boolean;
  /** Runs a function. Never rejects, and ends soon after its signal aborts. */
  execute(call: Call, signal: AbortSignal, task: Task): Promise<JobReturn>;
  clock: Clock;
  log: Log;
}

type Stopped = "timeout" | "cancelled" | "lost";
const stopped: Record<Stopped, { waiting: string; running: string }> = {
  timeout: { waiting: "never began: the deadline passed first", running: "stopped at the deadline" },
  cancelled: { waiting: "cancelled before it began", running: "cancelled while it ran" },
  lost: { waiting: "never began: the peel stopped", running: "stopped with the peel" },
};

interface Place {
  ready: boolean;
  running: boolean;
  /** It was asked to end, and has not yet. */
  stopping: boolean;
  readonly left: Promise<JobReturn>;
  /** Aborts running calls and drops queued ones. */
  end(why: Stopped): void;
  begin(): Promise<void>;
}

/** A lane runs its tasks in order of arrival, with a maximum number at once. */
interface Lane {
  places: Set<Place>;
  running: number;
  atOnce: number;
  max: number;
}

const newLane = (atOnce: number, max: number): Lane => ({ places: new Set(), running: 0, atOnce, max });

export function createExecutor(options: ExecutorOptions): Executor {
  const { clock } = options;
  const mutating = newLane(1, queueDepth);
  const readOnly = newLane(readOnlyAtOnce, readOnlyAtOnce + readOnlyWaiting);
  const byId = new Map<string, Place>();
  let stopping = false;
  return {
    run(task) {
      const lane = options.isReadOnly(task.call) ? readOnly : mutating;
      if (stopping) return Promise.resolve(failedReturn(stopped.lost.waiting, clock.now(), 0, "lost"));
      if (lane.places.size >= lane.max) return Promise.resolve(busyReturn(clock.now()));
      return enter(lane, byId, task, options);
    },
    cancel(id) {
      const place = byId.get(id);
      if (place === undefined) return "unknown";
      if (place.stopping) return "stopping";
      place.end("cancelled");
      return "cancelled";
    },
    isReadOnly: options.isReadOnly,
    get full() {
      return mutating.places.size >= mutating.max;
    },
    get queued() {
      return mutating.places.size;
    },
    async stop() {
      stopping = true;
      const places = [...mutating.places, ...readOnly.places];
      for (const place of places) place.end("lost");
      await Promise.all(places.map(({ left }) => left));
    },
  };
}

/** Begins tasks of a lane that are ready, while it has room. */
function pump(lane: Lane): void {
  for (const place of lane.places) {
    if (lane.running >= lane.atOnce) return;
    if (place.running || !place.ready) continue;
    place.running = true;
    lane.running++;
    void place.begin().finally(() => {
      lane.running--;
      pump(lane);
    });
  }
}

/** Queues a task. @returns its return, when it has left the lane */
function enter(
  lane: Lane,
  byId: Map<string, Place>,
  task: Task,
  options: ExecutorOptions,
): Promise<JobReturn> {
  const { clock } = options;
  const { promise: left, resolve } = Promise.withResolvers<JobReturn>();
  const enteredAt = clock.now();
  const controller = new AbortController();
  let timer: Timer | undefined;
  const leave = (result: JobReturn) => {
    timer?.cancel();
    lane.places.delete(place);
    if (byId.get(task.id) === place) byId.delete(task.id);
    resolve(result);
  };
  const place: Place = {
    ready: task.ready === undefined,
    running: false,
    stopping: false,
    left,
    end(why) {
      place.stopping = true;
      if (place.running) controller.abort(new Stop(why));
      else leave(failedReturn(stopped[why].waiting, enteredAt, 0, why));
    },
    async begin() {
      leave(await runOne(task, controller.signal, options));
    },
  };
  lane.places.add(place);
  byId.set(task.id, place);
  if (task.deadline !== undefined) {
    const leftMs = task.deadline - enteredAt;
    if (leftMs <= 0) place.end("timeout");
    else timer = clock.after(leftMs, () => place.end("timeout"));
  }
  task.ready?.then(() => {
    place.ready = true;
    pump(lane);
  });
  pump(lane);
  return left;
}

/** Runs a function. Stops waiting for a function that ignores its abort signal. */
function runOne(task: Task, signal: AbortSignal, options: ExecutorOptions): Promise<JobReturn> {
  const { clock, log } = options;
  const startedAt = clock.now();
  const started = clock.monotonic();
  return new Promise((resolve) => {
    let grace: Timer | undefined;
    const why = () => (signal.reason as Stop).why;
    signal.addEventListener("abort", () => {
      grace = clock.after(graceMs, () => {
        log.error("a function ignores its abort; continuing without it", {
          id: task.id,
          function: task.call.function,
        });
        const durationMs = Math.round(clock.monotonic() - started);
        resolve(failedReturn(`${stopped[why()].running}, and did not end`, startedAt, durationMs, why()));
      });
    });
    void options.execute(task.call, signal, task).then((result) => {
      grace?.cancel();
      // A call that ended in spite of the abort completed its work.
      if (!signal.aborted || result.success) resolve(result);
      else resolve({ ...result, error: stopped[why()].running, outcome: why() });
    });
  });
}

/** Why a function was stopped, as the reason of its signal. */
class Stop extends Error {
  readonly why: Stopped;

  constructor(why: Stopped) {
    super(stopped[why].running);
    this.why = why;
  }
}
