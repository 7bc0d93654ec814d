import type { EventEmitter } from "node:events";
import { isErrno, reasonOf } from "../../base/file.ts";
import type { Output } from "./command.ts";

/** Lets a program end in order when its result cannot be written; it exits with 1 then. */
export function endOnBrokenOutput(
  name: string,
  { stdout, stderr }: { stdout: EventEmitter; stderr: Output },
  exitWith: (code: number) => void,
): void {
  stdout.on("error", (cause) => {
    // A reader that has seen enough, such as head, is no reason for a message.
    if (!isErrno(cause, "EPIPE")) stderr.write(`${name}: cannot write the result: ${reasonOf(cause)}\n`);
    exitWith(1);
  });
}
