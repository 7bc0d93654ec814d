import type { ConsolePage } from "../../api/mod.ts";
import { Audit } from "./audit.tsx";

export const auditPage: ConsolePage = {
  name: "Audit",
  path: "/audit",
  key: "u",
  may: (session) => session.may("audit", "read"),
  View: Audit,
};
