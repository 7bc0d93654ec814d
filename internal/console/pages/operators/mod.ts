export { operatorsPage } from "./operators.tsx";
