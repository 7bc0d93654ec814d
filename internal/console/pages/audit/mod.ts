export { auditPage } from "./audit.tsx";
