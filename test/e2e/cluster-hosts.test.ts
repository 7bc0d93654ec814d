import { replicatingServers } from "../harness/bus.ts";
import { hostsCases } from "./cluster/hosts.ts";

// With the newest server; `make upgrades` runs it with the others.
const newest = replicatingServers().at(-1);
if (newest === undefined) throw new Error("no nats-server");
hostsCases(newest);
