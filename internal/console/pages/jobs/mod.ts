export { jobsPage } from "./jobs.tsx";
