export { eventsPage } from "./page.ts";
