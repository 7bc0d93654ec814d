import { expect, test } from "bun:test";
import { describeError } from "./errors.ts";

const withCode = (message: string, code: string, cause?: unknown) =>
  Object.assign(new Error(message, { cause }), { code });

const full = withCode("ENOSPC: no space left on device, write", "ENOSPC");

test.each<[string, unknown, string]>([
  ["a message", new Error("no room"), "no room"],
  ["a message with a code", withCode("no such file", "ENOENT"), "no such file (ENOENT)"],
  ["a code that is the message", withCode("CONNECTION_REFUSED", "CONNECTION_REFUSED"), "CONNECTION_REFUSED"],
  ["a message that begins with its code", full, "ENOSPC: no space left on device, write"],
  [
    "a message that has the words for the code of its cause",
    new Error("cannot write /a: no space left on the device", { cause: full }),
    "cannot write /a: no space left on the device",
  ],
  [
    "a message that says less than its cause",
    new Error("not recorded", { cause: full }),
    "not recorded: ENOSPC: no space left on device, write",
  ],
  ["causes", withCode("not sent", "503", new Error("no responders")), "not sent (503): no responders"],
  ["an error without a message", new TypeError(), "TypeError"],
  ["what is not an error", "stopped", "stopped"],
])("%s is described in one line", (_, thrown, text) => {
  expect(describeError(thrown)).toBe(text);
});
