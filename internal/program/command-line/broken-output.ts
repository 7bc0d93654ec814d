import type { EventEmitter } from "node:events";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import { createMessages } from "../../base/messages.ts";
import type { Output } from "./command.ts";

/** Lets a program end in order when its result cannot be written; it exits with 1 then. */
export function endOnBrokenOutput(
  name: string,
  { stdout, stderr }: { stdout: EventEmitter; stderr: Output },
  exitWith: (code: number) => void,
): void {
  const messages = createMessages({ name, write: (text) => stderr.write(text) });
  stdout.on("error", (cause) => {
    // A reader that stops early, such as head, is not a reason for a message.
    if (!isErrno(cause, "EPIPE")) messages.error(`cannot write the result: ${reasonOf(cause)}`);
    exitWith(1);
  });
}
