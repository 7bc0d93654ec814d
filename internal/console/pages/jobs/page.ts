import type { ConsolePage } from "../../api/mod.ts";
import { Jobs } from "./jobs.tsx";

export const jobsPage: ConsolePage = {
  name: "Jobs",
  path: "/jobs",
  key: "j",
  may: (session) => session.may("jobs", "list"),
  View: Jobs,
};
