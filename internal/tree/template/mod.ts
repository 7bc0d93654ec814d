export { TemplateError } from "./error.ts";
export { filters, tests } from "./filters.ts";
export type { HostCall, HostFunctions } from "./host-call.ts";
export { createTemplates, type Renderer, type Templates } from "./render.ts";
export { readRenderers } from "./renderers.ts";
export { pureFunctions } from "./salt/table.ts";
export type { Compat, Scope } from "./scope.ts";
export { type Tag, tagsOf } from "./tags.ts";
