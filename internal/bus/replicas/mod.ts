export { checkReplicas, type ReplicaCheck } from "./check.ts";
