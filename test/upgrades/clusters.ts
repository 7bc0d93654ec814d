import { hostsCases } from "../e2e/cluster/hosts.ts";
import { moveCases } from "../e2e/cluster/move.ts";
import { replicatingServers } from "../harness/bus.ts";

// What `make test` runs with the newest server, with the others.
for (const server of replicatingServers().slice(0, -1)) {
  hostsCases(server);
  moveCases(server);
}
