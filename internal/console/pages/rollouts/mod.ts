export { rolloutsPage } from "./page.ts";
