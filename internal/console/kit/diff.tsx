import { diffLines } from "./diff-lines.ts";

/** The changes of a state, named `of`: each difference as lines that were removed and added. */
export function Diff({ of, changes }: { of: string; changes: Readonly<Record<string, unknown>> }) {
  const lines = diffLines(changes);
  if (lines.length === 0) return null;
  return (
    // It scrolls, so it can be reached by keys.
    <section class="diff" tabIndex={0} aria-label={`Differences of ${of}`}>
      {lines.map(({ kind, text }, index) => (
        <div key={index} class={kind}>
          {text === "" ? " " : text}
        </div>
      ))}
    </section>
  );
}
