export { approvalsPage } from "./page.ts";
