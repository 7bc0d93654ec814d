/** An event of a trace of Chromium, as far as it is used; times are microseconds. */
export interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  /** Processor time of the thread. */
  tdur?: number;
}

/** What the main thread of a page did for one frame, milliseconds. */
export interface Frame {
  /** Processor time of scripts, style, layout, paint and the collector: it does not grow on a busy machine. */
  workMs: number;
  /** The same on the clock of the wall. */
  wallMs: number;
}

const task = "RunTask";
/** Each frame that the main thread draws has one. */
const mark = "PrePaint";

/** The frames of the page in a trace: the work between two of them counts for the later one. */
export function framesOf(events: readonly TraceEvent[]): Frame[] {
  const threads = Map.groupBy(
    events.filter(({ name, ph }) => ph === "X" && (name === task || name === mark)),
    ({ pid, tid }) => `${pid} ${tid}`,
  );
  const drawn = (thread: readonly TraceEvent[]) => thread.filter(({ name }) => name === mark).length;
  const [main = []] = [...threads.values()].sort((one, other) => drawn(other) - drawn(one));
  const inOrder = main.toSorted((one, other) => one.ts - other.ts);
  const marks = inOrder.filter(({ name }) => name === mark).map(({ ts }) => ts);
  const frames: Frame[] = [];
  let [workMs, wallMs, next] = [0, 0, 0];
  for (const { ts, dur = 0, tdur = 0 } of inOrder.filter(({ name }) => name === task)) {
    workMs += tdur / 1_000;
    wallMs += dur / 1_000;
    const before = next;
    while ((marks[next] ?? Number.POSITIVE_INFINITY) <= ts + dur) next++;
    if (next === before) continue;
    frames.push({ workMs, wallMs });
    [workMs, wallMs] = [0, 0];
  }
  return frames;
}
