export { jobsPage } from "./page.ts";
