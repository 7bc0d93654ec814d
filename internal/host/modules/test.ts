import { sleep } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { version } from "../../base/version.ts";
import { arg, define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

/** Functions that test the connection to a peel. */
export const testFunctions: readonly ModuleFunction[] = [
  define({
    name: "test.ping",
    doc: "Returns true: the peel is connected and runs jobs.",
    args: {},
    readOnly: true,
    run: () => true,
  }),
  define({
    name: "test.echo",
    doc: "Returns the text.",
    args: { text: arg.string("Any text.", { required: true, data: "text" }) },
    run: ({ text }) => text,
  }),
  define({
    name: "test.sleep",
    plainArgs: true,
    doc: "Waits, then returns true. Ends early when the job ends.",
    args: { length: arg.duration("How long to wait.", { required: true }) },
    async run({ length }, { clock, signal }) {
      await sleep(clock, parseDuration(length), signal);
      return true;
    },
  }),
  define({
    name: "test.fail",
    aliases: ["test.exception"],
    doc: "Fails.",
    args: {
      message: arg.string("Message of the failure; by default it says that the failure was requested.", {
        data: "text",
      }),
    },
    run({ message = "failed as requested" }) {
      throw new SvcError("bad_request", message);
    },
  }),
  define({ name: "test.true", doc: "Returns true, after waiting in the queue.", args: {}, run: () => true }),
  define({ name: "test.false", doc: "Returns false, which is not a failure.", args: {}, run: () => false }),
  define({
    name: "test.version",
    doc: "Returns the version of the peel.",
    args: {},
    run: () => version,
  }),
];
