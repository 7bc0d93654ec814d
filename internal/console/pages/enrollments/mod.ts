export { enrollmentsPage } from "./page.ts";
