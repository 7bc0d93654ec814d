export { clusterPage } from "./cluster.tsx";
