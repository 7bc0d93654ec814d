const width = 78;

/** One page of the manual. */
export interface Page {
  /** `svc-run` */
  name: string;
  section: 1 | 5 | 8;
  text: string;
}

/** What stands at the head and the foot of every page. */
export interface Edition {
  version: string;
  /** `2026-01-31` */
  date: string;
}

/**
 * Puts a page together from parts in the language of man(7), which every reader of manuals knows.
 *
 * @param summary what the page is about, without a full stop
 */
export function page(
  place: Pick<Page, "name" | "section"> & { summary: string },
  { version, date }: Edition,
  parts: readonly string[],
): Page {
  const { name, section, summary } = place;
  const lines = [
    // A hyphen stays a hyphen where it is typed again; groff makes a dash of a bare one.
    `.TH ${literal(name.toUpperCase())} ${section} ${date} "svc ${literal(version)}" "svc manual"`,
    // A flag that is divided at the end of a line is not found, nor typed as it is.
    ".nh",
    ".ad l",
    heading("Name"),
    `${literal(name)} \\- ${filled(summary)}`,
    ...parts,
  ];
  // A heading begins a paragraph by itself, and readers of the language warn about a second.
  const text = lines.join("\n").replace(/^(\.S[HS] .*)\n\.PP$/gm, "$1");
  return { name, section, text: `${text}\n` };
}

export function heading(title: string): string {
  return `.SH ${title.toUpperCase()}`;
}

export function subheading(title: string): string {
  return `.SS "${prose(title)}"`;
}

export function paragraph(text: string): string {
  return `.PP\n${filled(text)}`;
}

/** A term in bold, and what it means below. */
export function tagged(term: string, text: string): string {
  return `.TP\n.B "${literal(term)}"\n${filled(text)}`;
}

/** A command line as it is typed; of several each has a line of its own. */
export function synopsis(lines: readonly string[]): string {
  return lines
    .map((line) => `.br\n.B "${literal(line)}"`)
    .join("\n")
    .slice(".br\n".length);
}

/** References to other pages, such as `svc(1)`. */
export function seeAlso(pages: readonly { name: string; section: number }[]): string {
  const lines = pages.map(({ name, section }, index) => {
    const comma = index === pages.length - 1 ? "" : ",";
    return `.BR ${literal(name)} (${section})${comma}`;
  });
  return [heading("See also"), ...lines].join("\n");
}

/** Text that is to be typed or read exactly as it is: every hyphen is one. */
function literal(text: string): string {
  return escaped(text).replaceAll("-", "\\-").replaceAll('"', "\\(dq");
}

/** Sentences; what begins with a hyphen is typed, so that hyphens in it are kept. */
function prose(text: string): string {
  return escaped(text)
    .replace(/(?<=^|[\s(])-[\w-]*/g, (option) => option.replaceAll("-", "\\-"))
    .replaceAll('"', "\\(dq");
}

function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replace(
      /[^\x20-\x7e]/gu,
      (character) => `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    );
}

/** Text in lines of which none can be taken for a request. */
function filled(text: string): string {
  const lines: string[] = [];
  let line = "";
  for (const word of prose(text).split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((each) => (each.startsWith(".") ? `\\&${each}` : each)).join("\n");
}
