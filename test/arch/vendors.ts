import { isBuiltin } from "node:module";
import { isProduction, parse, type Source, type Violation } from "./source.ts";

/** The folders that may import a vendor's package; everybody else goes through them. */
export const vendors: Record<string, readonly string[]> = {
  "@elysiajs/swagger": ["internal/doors/rest/"],
  "@opentelemetry/api": ["internal/program/tracing/"],
  "@opentelemetry/exporter-trace-otlp-proto": ["internal/program/tracing/"],
  "@opentelemetry/resources": ["internal/program/tracing/"],
  "@opentelemetry/sdk-trace": ["internal/program/tracing/"],
  "@peculiar/x509": ["internal/identity/ca/", "internal/identity/evidence/"],
  "@preact/signals": ["internal/console/"],
  "@valibot/to-json-schema": ["internal/base/", "internal/doors/rest/"],
  citty: ["internal/program/command-line/", "internal/cli/"],
  consola: ["internal/base/"],
  croner: ["internal/base/"],
  "csv-parse": ["internal/cli/enroll/"],
  "csv-stringify": ["internal/program/command-line/"],
  diff: ["internal/tree/function/"],
  elysia: ["internal/doors/rest/", "internal/program/health/"],
  "fastest-levenshtein": ["internal/base/"],
  jose: ["internal/identity/oidc/"],
  "js-yaml": ["internal/base/"],
  "jsonc-parser": ["internal/tree/functions/documents/"],
  msgpackr: ["internal/base/"],
  nats: ["internal/bus/"],
  "nkeys.js": ["internal/identity/"],
  preact: ["internal/console/"],
  "prom-client": ["internal/program/health/"],
  re2js: ["internal/tree/targets/"],
  "reflect-metadata": ["internal/identity/ca/"],
  "swagger-ui-dist": ["internal/doors/rest/"],
  "toml-eslint-parser": ["internal/tree/functions/documents/"],
  valibot: ["internal/"],
  yaml: ["internal/tree/functions/documents/"],
};

/** Imports of packages that the table does not know, or from a room that has no business with them. */
export function checkVendors(sources: Source[]): Violation[] {
  return sources.filter(isProduction).flatMap((source) =>
    parse(source).imports.flatMap((specifier): Violation[] => {
      if (specifier === undefined) {
        return [{ path: source.path, problem: "imports a computed name; name the file or package" }];
      }
      if (specifier.startsWith(".") || isRuntime(specifier)) return [];
      const name = packageOf(specifier);
      const rooms = vendors[name];
      if (rooms === undefined) {
        return [{ path: source.path, problem: `imports ${name}, which has no room in test/arch/vendors.ts` }];
      }
      if (rooms.some((room) => source.path.startsWith(room))) return [];
      return [{ path: source.path, problem: `imports ${name}, which stays behind ${rooms.join(", ")}` }];
    }),
  );
}

/** Whether a specifier names what the runtime brings. */
export function isRuntime(specifier: string): boolean {
  return specifier === "bun" || specifier.startsWith("bun:") || isBuiltin(specifier);
}

/** The package of a specifier: `consola` for `consola/core`. */
export function packageOf(specifier: string): string {
  const [first = "", second = ""] = specifier.split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}
