export { enrollmentsPage } from "./enrollments.tsx";
