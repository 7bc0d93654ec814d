export { overviewPage } from "./page.ts";
