import type { ListedPeel } from "../../api/mod.ts";

const maxNamed = 12;

/** The names of those that something is about to happen to. */
export function NamedPeels({ peels }: { peels: readonly Pick<ListedPeel, "id">[] }) {
  return (
    <ul class="tags">
      {peels.slice(0, maxNamed).map(({ id }) => (
        <li key={id} class="tag">
          {id}
        </li>
      ))}
      {peels.length > maxNamed && (
        <li class="muted small">and {(peels.length - maxNamed).toLocaleString("en")} more</li>
      )}
    </ul>
  );
}
