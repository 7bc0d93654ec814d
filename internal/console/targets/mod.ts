export { TargetInput } from "./target-input.tsx";
export { TargetSearch } from "./target-search.tsx";
