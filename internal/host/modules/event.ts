import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { arg, define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

const maxTag = 255;
const tagForm = /^[a-zA-Z0-9_-]+(?:\/[a-zA-Z0-9_-]+)*$/;
/** Leaves room for the envelope in a message of 64 KiB. */
const maxDataBytes = 60 * 1024;

/** Functions that send events to the masters. */
export const eventFunctions: readonly ModuleFunction[] = [
  define({
    name: "event.send",
    doc: "Sends an event to the reactor of the masters. While the bus is unavailable, the event is kept on disk.",
    args: {
      tag: arg.string("Tag of the event, in segments such as disk/full.", { required: true }),
      data: arg.map("Data of the event, by name.", { data: "text" }),
    },
    openArgs: "data",
    refuse: ({ tag = "", data = {} }) => tagProblem(tag) ?? dataProblem(data),
    run({ tag, data = {} }, { sendEvent }) {
      if (sendEvent === undefined) {
        throw new SvcError(
          "unavailable",
          "events are sent by the running peel: call event.send in a job or in the schedule",
        );
      }
      const { onDisk } = sendEvent(tag, data);
      return { tag, kept_on_disk: onDisk };
    },
  }),
];

/** Why a peel may not send this tag; `undefined` when it may. */
export function tagProblem(tag: string): string | undefined {
  if (tag.length > maxTag) return `tag: must have at most ${maxTag} characters`;
  if (!tagForm.test(tag)) {
    return `tag: ${quote(tag)} is not valid: expected segments of letters, digits, _ and -, separated by /`;
  }
  if (tag === "svc" || tag.startsWith("svc/")) return "tag: the prefix svc/ is reserved for masters";
  return undefined;
}

function dataProblem(data: unknown): string | undefined {
  const bytes = encode(data).length;
  return bytes <= maxDataBytes ? undefined : `data: ${bytes} bytes exceed the limit of ${maxDataBytes}`;
}
