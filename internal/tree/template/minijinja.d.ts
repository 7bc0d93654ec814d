/** The part of minijinja-js that we use. Its `bundler` build lets us make the WebAssembly instance ourselves. */
declare module "minijinja-js/dist/bundler/minijinja_js_bg.js" {
  export class Environment {
    debug: boolean;
    keepTrailingNewline: boolean;
    undefinedBehavior: "strict";
    fuel: number;
    addTemplate(name: string, source: string): void;
    clearTemplates(): void;
    renderTemplate(name: string, context: unknown): string;
    addFilter(name: string, filter: (...args: unknown[]) => unknown): void;
    addGlobal(name: string, value: unknown): void;
    removeGlobal(name: string): void;
    enablePyCompat(): void;
    /** Drops the reference to the environment without freeing it. */
    __destroy_into_raw(): number;
    free(this: { __destroy_into_raw(): number }): void;
  }
  export interface Exports {
    readonly memory: WebAssembly.Memory;
    __wbg_environment_free(pointer: number, flag: number): void;
  }
  export function __wbg_set_wasm(exports: Exports): void;
}

declare module "minijinja-js/dist/bundler/minijinja_js_bg.wasm" {
  const path: string;
  export default path;
}
