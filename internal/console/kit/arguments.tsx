import type { Plain } from "../../base/msgpack.ts";
import { plainLines } from "../../program/answers/mod.ts";

/** An argument as people read it: `name: value`, lists and maps over several lines. */
export const argumentText = (name: string, value: unknown): string =>
  plainLines({ [name]: value as Plain }).join("\n");

/** The arguments of a function, as entries of a list of facts. */
export function Arguments({ args }: { args: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(args);
  if (entries.length === 0) return null;
  return (
    <>
      <dt>Arguments</dt>
      <dd>
        {entries.map(([name, value]) => (
          <div key={name} class="mono lines">
            {argumentText(name, value)}
          </div>
        ))}
      </dd>
    </>
  );
}
