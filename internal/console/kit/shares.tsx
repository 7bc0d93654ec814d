import { type Outcome, outcomeOf, outcomes } from "./outcome.ts";
import { Status } from "./status.tsx";

/** A part of a whole. */
export interface Share {
  outcome: Outcome;
  word: string;
  count: number;
}

/**
 * Parts of a whole as a bar, with the same in words and numbers below it.
 *
 * @param bare without these: they are elsewhere on the page
 */
export function Shares(props: { label: string; shares: readonly Share[]; bare?: boolean }) {
  const { label, shares, bare } = props;
  const parts = shares
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => outcomes.indexOf(one.outcome) - outcomes.indexOf(other.outcome));
  const sum = parts.reduce((all, { count }) => all + count, 0);
  let x = 0;
  return (
    <section class="stack" aria-label={label}>
      <svg class="shares" viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
        {parts.map(({ outcome, word, count }, index) => {
          const width = (count / sum) * 1000;
          const at = x;
          x += width;
          // Neighbors stay apart where their colors do not tell them apart.
          const gap = index === parts.length - 1 ? 0 : 2;
          return (
            <rect key={word} data-outcome={outcome} x={at} width={Math.max(width - gap, 2)} height="12" />
          );
        })}
      </svg>
      {bare !== true && (
        <ul class="legend">
          {parts.map(({ outcome, word, count }) => (
            <li key={word}>
              <Status word={word} outcome={outcome} />{" "}
              <span class="number">{count.toLocaleString("en")}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The same for numbers of words that each have their outcome. */
export function Counts(props: {
  label: string;
  counts: Iterable<readonly [string, number]>;
  bare?: boolean;
}) {
  const { counts, ...rest } = props;
  const shares = [...counts].map(([word, count]) => ({ word, count, outcome: outcomeOf(word) }));
  return <Shares {...rest} shares={shares} />;
}
