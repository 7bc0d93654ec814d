import type { ConsolePage } from "../../api/mod.ts";
import { Cluster } from "./cluster.tsx";

export const clusterPage: ConsolePage = {
  name: "Cluster",
  path: "/cluster",
  key: "c",
  may: (session) => session.may("cluster", "read"),
  View: Cluster,
};
