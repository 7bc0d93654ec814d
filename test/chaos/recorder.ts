import type { Clock } from "../../internal/base/clock.ts";
import type { Answer } from "./door.ts";
import type { Call, Entry } from "./history.ts";

/** Writes the history of a run. */
export interface Recorder {
  readonly history: readonly Entry[];
  /** Milliseconds since the run began. */
  now(): number;
  add(entry: Entry): void;
  /** Records one request with its answer. @param about what the answer is about, besides what was asked */
  call(
    requested: Pick<Call, "door" | "master" | "operation"> & Partial<Call>,
    answer: Promise<Answer>,
    about?: (json: unknown) => Partial<Call>,
  ): Promise<Answer>;
}

export function createRecorder(clock: Clock): Recorder {
  const begun = clock.monotonic();
  const history: Entry[] = [];
  const now = () => Math.round(clock.monotonic() - begun);
  return {
    history,
    now,
    add: (entry) => void history.push(entry),
    async call(requested, answering, about = () => ({})) {
      const at = now();
      const answer = await answering;
      const { status, json, error } = answer;
      const found = status >= 200 && status < 300 ? about(json) : {};
      history.push({
        kind: "call",
        at,
        ended: now(),
        status,
        ...requested,
        ...found,
        ...(error === undefined ? {} : { error }),
      });
      return answer;
    },
  };
}
