import type { Plain } from "../../base/msgpack.ts";
import { argumentText } from "../kit/arguments.tsx";

/** Arguments as they are sent, one in each line. */
export function ArgumentList({ args }: { args: Readonly<Record<string, Plain>> }) {
  return (
    <ul class="small">
      {Object.entries(args).map(([name, value]) => (
        <li key={name} class="mono lines">
          {argumentText(name, value)}
        </li>
      ))}
    </ul>
  );
}
