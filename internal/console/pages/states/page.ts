import type { ConsolePage } from "../../api/mod.ts";
import { States } from "./states.tsx";

export const statesPage: ConsolePage = {
  name: "States",
  path: "/states",
  key: "s",
  may: (session) => session.may("states", "read"),
  View: States,
};
