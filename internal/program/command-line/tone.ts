/** The words of states and outcomes, by how they should be looked at. The word is always there, color only helps. */
const words = {
  good: "ok done active alive up completed ready live agrees described",
  attention:
    "pending waiting running paused suspended silent offline busy cancelled open warn skip begun degraded late unsafe drifted stale never",
  bad: "fail failed timeout lost aborted rejected refused denied revoked expired disabled orphaned down tampered mismatch clone not",
} as const;
type Tone = keyof typeof words;

const codes: Record<Tone, string> = { good: "32", attention: "33", bad: "31" };
const tones = new Map(
  (Object.keys(words) as Tone[]).flatMap((tone) =>
    words[tone].split(" ").map((word) => [word, tone] as const),
  ),
);

/** The escapes that this program writes itself: of `paint`, and of a header. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for
export const ownCodes = /\u001b\[(?:[01]|3[123])m/;

/** Colors the words of a text that are states or outcomes: `10 ok, 1 failed`. */
export function paint(text: string): string {
  return text.replace(/[A-Za-z][A-Za-z-]*/g, (word) => {
    const tone = tones.get(word.toLowerCase());
    return tone === undefined ? word : `\u001b[${codes[tone]}m${word}\u001b[0m`;
  });
}
