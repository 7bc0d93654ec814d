export { statesPage } from "./states.tsx";
