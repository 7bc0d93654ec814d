import { replicatingServers } from "../harness/bus.ts";
import { moveCases } from "./cluster/move.ts";

// With the newest server; `make upgrades` runs it with the others.
const newest = replicatingServers().at(-1);
if (newest === undefined) throw new Error("no nats-server");
moveCases(newest);
