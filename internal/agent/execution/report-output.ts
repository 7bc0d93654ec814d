import type { Clock, Timer } from "../../base/clock.ts";
import { wholeCharacters } from "../../base/process/capture.ts";
import { progressSubject } from "../../bus/subjects/subjects.ts";
import { encodeOutput } from "../../wire/progress.ts";
import type { Connection } from "../link/mod.ts";

/** Twice a second is as people read. */
const everyMs = 500;
/** Bytes of one report; masters and `svc` read none of more than 4096 bytes. */
const maxBytes = 2_400;
/** A character takes three bytes at most, as does what stands for a broken one. */
const maxCharacters = 1_200;

/** Reports what a command writes, to those who follow its job. The reports are best effort. */
export interface OutputReport {
  add(chunk: Uint8Array): void;
  /** Sends the rest. */
  stop(): void;
}

/**
 * Publishes what is written, twice a second. Of what is written faster, the newest part is sent, with how much was
 * left out before: the return has it.
 */
export function reportOutput(options: {
  connection: Pick<Connection, "publish">;
  jid: string;
  /** Encoded peel id. */
  peelId: string;
  clock: Clock;
}): OutputReport {
  const { connection, jid, peelId, clock } = options;
  let waiting: Uint8Array = new Uint8Array();
  let skipped = 0;
  let timer: Timer | undefined;
  const report = (isEnd: boolean) => {
    // The rest of a character may be still to come.
    const end = isEnd ? waiting.length : wholeCharacters(waiting);
    if (end === 0) return;
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(waiting.subarray(0, end));
    const output = text.slice(-maxCharacters);
    const left = skipped + text.length - output.length;
    waiting = waiting.slice(end);
    skipped = 0;
    connection.publish(progressSubject(jid, peelId), encodeOutput({ output, skipped: left }));
  };
  return {
    add(chunk) {
      const all = Buffer.concat([waiting, chunk.subarray(-maxBytes)]);
      const kept = all.subarray(-maxBytes);
      skipped += waiting.length + chunk.length - kept.length;
      waiting = Uint8Array.from(kept);
      timer ??= clock.every(everyMs, () => report(false));
    },
    stop() {
      timer?.cancel();
      report(true);
    },
  };
}
