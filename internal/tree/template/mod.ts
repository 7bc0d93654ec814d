export { TemplateError } from "./error.ts";
export { variablesOf } from "./file-variables.ts";
export type { HostCall, HostFunctions } from "./host-call.ts";
export { createTemplates, type Renderer, type Templates } from "./render.ts";
export { readRenderers } from "./renderers.ts";
export { treePath } from "./salt/data.ts";
export { choosesByFacts } from "./salt/table.ts";
export { type Compat, compatLevels, type Scope } from "./scope.ts";
export { yamlLikeSalt } from "./yaml-text.ts";
