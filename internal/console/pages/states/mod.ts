export { statesPage } from "./page.ts";
