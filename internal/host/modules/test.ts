import { sleep } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { version } from "../../base/version.ts";
import { define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

/** Functions that try the way to a peel and back. */
export const testFunctions: readonly ModuleFunction[] = [
  define({
    name: "test.ping",
    doc: "Answers true: the peel is there and runs jobs.",
    args: {},
    readOnly: true,
    run: () => true,
  }),
  define({
    name: "test.echo",
    doc: "Gives back the text.",
    args: { text: { type: "string", required: true, doc: "Any text." } },
    run: ({ text }) => text,
  }),
  define({
    name: "test.sleep",
    doc: "Waits, then answers true; ends early with the job.",
    args: { length: { type: "duration", required: true, doc: "How long to wait." } },
    async run({ length }, { clock, signal }) {
      await sleep(clock, parseDuration(length), signal);
      return true;
    },
  }),
  define({
    name: "test.fail",
    aliases: ["test.exception"],
    doc: "Fails.",
    args: { message: { type: "string", doc: "What the failure says; by default that it was asked for." } },
    run({ message = "failed as asked" }) {
      throw new SvcError("bad_request", message);
    },
  }),
  define({ name: "test.true", doc: "Answers true, after waiting its turn.", args: {}, run: () => true }),
  define({ name: "test.false", doc: "Answers false; that is no failure.", args: {}, run: () => false }),
  define({
    name: "test.version",
    doc: "Gives the version of the peel's program.",
    args: {},
    run: () => version,
  }),
];
