export { TemplateError } from "./error.ts";
export type { Scope } from "./lookups.ts";
export { createTemplates, type Renderer, type Templates } from "./render.ts";
export { readRenderers } from "./renderers.ts";
export { type Tag, tagsOf } from "./tags.ts";
