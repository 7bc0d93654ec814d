export { auditPage } from "./page.ts";
