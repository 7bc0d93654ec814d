export { clusterPage } from "./page.ts";
