export { eventsPage } from "./events.tsx";
