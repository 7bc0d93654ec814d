/**
 * Edits a text whose lines may end with CR LF as if all ended with LF. Lines that stay keep their ends, and new ones end
 * as most lines of the text do.
 */
export function keepLineEnds(text: string, edit: (text: string) => string): string {
  if (!text.includes("\r\n")) return edit(text);
  const plain = text.replaceAll("\r\n", "\n");
  const edited = edit(plain);
  if (edited === plain) return text;
  const old = text.split("\n").slice(0, -1);
  const usual = old.filter((line) => line.endsWith("\r")).length * 2 >= old.length ? "\r" : "";
  const places = placesOf(plain.split("\n"), edited.split("\n"));
  return edited
    .split("\n")
    .map((line, at, { length }) => {
      if (at === length - 1) return line;
      const before = old[places[at] ?? old.length];
      return before ?? `${line.replace(/\r$/, "")}${usual}`;
    })
    .join("\n");
}

/** Where each new line was, if it is an old one. */
function placesOf(old: readonly string[], lines: readonly string[]): (number | undefined)[] {
  const shorter = Math.min(old.length, lines.length);
  let head = 0;
  while (head < shorter && old[head] === lines[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === lines.at(-1 - tail)) tail++;
  const left = new Map<string, number[]>();
  for (const [at, line] of old.slice(head, old.length - tail).entries()) {
    const known = left.get(line);
    if (known === undefined) left.set(line, [at + head]);
    else known.push(at + head);
  }
  for (const places of left.values()) places.reverse();
  return lines.map((line, at) => {
    if (at < head) return at;
    if (at >= lines.length - tail) return at - lines.length + old.length;
    return left.get(line)?.pop();
  });
}
