export { bootstrapOperations } from "./joined.ts";
export { clusterInfoKey, startPublisher } from "./publish.ts";
