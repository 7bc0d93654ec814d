import type { ConsolePage } from "../../api/mod.ts";
import { Peels } from "./peels.tsx";

export const peelsPage: ConsolePage = {
  name: "Peels",
  path: "/peels",
  key: "p",
  may: (session) => session.may("facts", "read"),
  View: Peels,
};
