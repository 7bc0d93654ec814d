import type { ConsolePage } from "../../api/mod.ts";
import { Reactor } from "./reactor.tsx";

export const reactorPage: ConsolePage = {
  name: "Reactor",
  path: "/reactor",
  key: "x",
  may: (session) => session.may("reactor", "rules") || session.may("reactor", "test"),
  View: Reactor,
};
