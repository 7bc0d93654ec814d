import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

const maxTag = 255;
const tagForm = /^[a-zA-Z0-9_-]+(?:\/[a-zA-Z0-9_-]+)*$/;
/** Leaves room in a message of 64 KiB for what stands around the data. */
const maxDataBytes = 60 * 1024;

/** What tells the masters that something happened on this host. */
export const eventFunctions: readonly ModuleFunction[] = [
  define({
    name: "event.send",
    doc: "Tells the reactor of the masters that something happened; while the bus is away the event waits on disk.",
    args: {
      tag: { type: "string", required: true, doc: "What happened, in segments: disk/full." },
      data: { type: "map", doc: "What there is to say about it, by name." },
    },
    openArgs: "data",
    refuse: ({ tag = "", data = {} }) => tagProblem(tag) ?? dataProblem(data),
    run({ tag, data = {} }, { sendEvent }) {
      if (sendEvent === undefined) {
        throw new SvcError(
          "unavailable",
          "events are sent by the running peel: call event.send by a job, or in its schedule",
        );
      }
      const { onDisk } = sendEvent(tag, data);
      return { tag, kept_on_disk: onDisk };
    },
  }),
];

/** Why a peel may not send this tag; `undefined` when it may. */
export function tagProblem(tag: string): string | undefined {
  if (tag.length > maxTag) return `tag: at most ${maxTag} characters`;
  if (!tagForm.test(tag)) {
    return `tag: ${JSON.stringify(tag.slice(0, 80))} is none: segments of letters, digits, _ and -, with / between them`;
  }
  if (tag === "svc" || tag.startsWith("svc/")) return "tag: those below svc/ are the masters' own";
  return undefined;
}

function dataProblem(data: unknown): string | undefined {
  const bytes = encode(data).length;
  return bytes <= maxDataBytes ? undefined : `data: ${bytes} bytes are more than ${maxDataBytes}`;
}
