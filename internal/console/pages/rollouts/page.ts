import type { ConsolePage } from "../../api/mod.ts";
import { Rollouts } from "./rollouts.tsx";

export const rolloutsPage: ConsolePage = {
  name: "Rollouts",
  path: "/rollouts",
  key: "r",
  may: (session) => session.may("rollouts", "list"),
  View: Rollouts,
};
