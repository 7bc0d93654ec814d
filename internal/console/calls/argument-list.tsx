import type { Plain } from "../../base/msgpack.ts";

/** Arguments as they are sent, one in each line. */
export function ArgumentList({ args }: { args: Readonly<Record<string, Plain>> }) {
  return (
    <ul class="small">
      {Object.entries(args).map(([name, value]) => (
        <li key={name} class="mono">
          {name}={typeof value === "string" ? value : JSON.stringify(value)}
        </li>
      ))}
    </ul>
  );
}
