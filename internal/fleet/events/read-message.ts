import type { Bus } from "../../bus/connection/mod.ts";
import type { PlacedMessage } from "../../bus/streams/mod.ts";
import {
  type Event,
  isServiceTag,
  type JobOf,
  type Reading,
  readEvent,
  readReturn,
  readScheduled,
} from "../reactor/events/mod.ts";
import type { FeedStream } from "./position.ts";
import { type Judging, readEnrollmentChange } from "./read-enrollment.ts";

export interface ReadDeps {
  bus: Bus;
  jobOf: JobOf;
  enrollments: Judging;
}

/**
 * The tags of the events of a stream, as segments where `*` is any; a stream without a row here holds events with
 * any tag.
 */
export const tagShapes: Readonly<Partial<Record<FeedStream, readonly (readonly string[])[]>>> = {
  "job-events": [
    ["svc", "job", "*", "return", "*"],
    ["svc", "schedule", "*", "*"],
  ],
  enrollments: [["svc", "enrollment", "*"]],
};

/** What a peel answered is read in the job: here is whether it did well. */
const notShown = ["return", "return_omitted", "metadata"];

/**
 * Reads a stored message.
 *
 * @returns `undefined` for what is not an event: an acknowledgement, a malformed message, a forged one
 * @throws SvcError `storage`
 */
export async function readMessage(
  deps: ReadDeps,
  stream: FeedStream,
  message: PlacedMessage,
): Promise<Event | undefined> {
  switch (stream) {
    case "events":
      return genuine(readEvent({ ...message, deliveries: 1 }));
    case "job-events":
      return readJobEvent(deps, message);
    case "enrollments":
      return readEnrollmentChange(deps.bus, message, deps.enrollments);
  }
}

async function readJobEvent({ jobOf }: ReadDeps, message: PlacedMessage): Promise<Event | undefined> {
  const kind = message.subject.split(".")[3];
  const delivered = { ...message, deliveries: 1 };
  const reading =
    kind === "return"
      ? await readReturn(delivered, jobOf)
      : kind === "schedule"
        ? readScheduled(delivered)
        : undefined;
  const event = genuine(reading);
  if (event === undefined) return undefined;
  const shown = Object.entries(event.data).filter(([name]) => !notShown.includes(name));
  return { ...event, data: Object.fromEntries(shown) };
}

/** A peel must not speak in the name of the service. */
function genuine(reading: Reading): Event | undefined {
  if (reading === undefined || !("event" in reading)) return undefined;
  const { event } = reading;
  return event.origin === "peel" && isServiceTag(event.tag) ? undefined : event;
}
