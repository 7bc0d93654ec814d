import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Events";

/** How what happens is reached. */
export const eventDoors = {
  streamEvents: {
    rest: {
      ...{ method: "GET", path: "/api/v1/events", tag, readsAll: true },
      stream: { maxDurationMs: 24 * 3600_000, resumes: "after" },
      answers: { 200: "The stream", 429: "Too many readers of events" },
    },
    bus: { subject: "svc.admin.events.follow" },
  },
  listEvents: {
    rest: {
      ...{ method: "GET", path: "/api/v1/events/list", tag, readsAll: true },
      answers: {
        200: "One page of them",
        400: "A parameter is malformed",
        429: "Too many readers of events",
      },
    },
    bus: { subject: "svc.admin.event.list" },
  },
} as const satisfies Doors<typeof operations>;
