import type { ConsolePage } from "../../api/mod.ts";
import { Overview } from "./overview.tsx";

export const overviewPage: ConsolePage = {
  name: "Overview",
  path: "/overview",
  key: "o",
  // It shows of everything what may be read.
  may: () => true,
  View: Overview,
};
