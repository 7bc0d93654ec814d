import type { ConsolePage } from "../../api/mod.ts";
import { Approvals } from "./approvals.tsx";

export const approvalsPage: ConsolePage = {
  name: "Approvals",
  path: "/approvals",
  key: "a",
  may: (session) => session.may("approvals", "list"),
  View: Approvals,
};
