import { Status } from "../kit/status.tsx";
import type { Preview } from "./use-preview.ts";

const maxNamed = 24;

/** The peels that a target selects, while it is typed. */
export function TargetPreview({ preview }: { preview: Preview | undefined }) {
  if (preview === undefined) {
    return (
      <p class="muted small">
        Type a target to see which peels it selects: a peel ID, a glob, or G@os:Debian.
      </p>
    );
  }
  const { total, peels, problem } = preview;
  if (problem !== undefined) return <p class="problem">{problem}</p>;
  const silent = peels.filter(({ alive }) => !alive).length;
  return (
    <div class="stack">
      <p role="status">
        <strong class="number">{total.toLocaleString("en")}</strong> {total === 1 ? "peel is" : "peels are"}{" "}
        meant
        {silent > 0 && (
          <>
            , <Status word="silent" /> {silent.toLocaleString("en")}
            {peels.length < total && ` of the first ${peels.length.toLocaleString("en")}`}
          </>
        )}
      </p>
      <ul class="tags">
        {peels.slice(0, maxNamed).map(({ peel, alive }) => (
          <li key={peel} class="tag" title={alive ? "alive" : "silent: it runs when it returns in time"}>
            {peel}
            {!alive && " (silent)"}
          </li>
        ))}
        {total > maxNamed && (
          <li class="muted small">
            and {(total - Math.min(maxNamed, peels.length)).toLocaleString("en")} more
          </li>
        )}
      </ul>
    </div>
  );
}
