import type { ConsolePage } from "../../api/mod.ts";
import { Enrollments } from "./enrollments.tsx";

export const enrollmentsPage: ConsolePage = {
  name: "Enrollments",
  path: "/enrollments",
  key: "e",
  may: (session) => session.may("enrollments", "list"),
  View: Enrollments,
};
