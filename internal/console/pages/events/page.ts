import type { ConsolePage } from "../../api/mod.ts";
import { Events } from "./events.tsx";

export const eventsPage: ConsolePage = {
  name: "Events",
  path: "/events",
  key: "v",
  may: (session) => session.may("events", "read"),
  View: Events,
};
