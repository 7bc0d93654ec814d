export { reactorPage } from "./page.ts";
