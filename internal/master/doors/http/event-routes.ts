import { type EventsDeps, followEvents } from "../../../fleet/events/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

/** The operator's route to what happens. */
export function eventRoutes({ stream }: HttpDoor, deps: Pick<EventsDeps, "feed" | "clock">): Route[] {
  return [
    stream(followEvents, deps, {
      path: "/api/v1/events",
      id: "streamEvents",
      auth: "bearer",
      budget: "relaxed",
      tag: "Events",
      maxDurationMs: 24 * 3600_000,
      resumes: "after",
      answers: { 200: "The stream", 429: "Too many readers of events", 503: notRead },
    }),
  ];
}
