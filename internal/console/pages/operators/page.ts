import type { ConsolePage } from "../../api/mod.ts";
import { Operators } from "./operators.tsx";

export const operatorsPage: ConsolePage = {
  name: "Operators",
  path: "/operators",
  key: "t",
  may: ({ may }) => may("operators", "list") || may("tokens", "list") || may("roles", "read"),
  View: Operators,
};
