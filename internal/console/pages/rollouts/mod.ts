export { rolloutsPage } from "./rollouts.tsx";
