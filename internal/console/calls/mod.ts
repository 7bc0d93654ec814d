export { ArgumentList } from "./argument-list.tsx";
export { FunctionFields } from "./function-fields.tsx";
export { startAndGo } from "./start-and-go.ts";
export { TargetFields } from "./target-fields.tsx";
export { TextField } from "./text-field.tsx";
export { type TypedCall, useCall } from "./use-call.ts";
export { useTarget } from "./use-target.ts";
