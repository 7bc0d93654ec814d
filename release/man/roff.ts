const width = 78;

/** One manual page. */
export interface Page {
  /** `svc-run` */
  name: string;
  section: 1 | 5 | 8;
  text: string;
}

/** The header and footer of every page. */
export interface Edition {
  version: string;
  /** `2026-01-31` */
  date: string;
}

/**
 * Assembles a page from parts in man(7) format, which every manual reader supports.
 *
 * @param summary summary of the page, without a full stop
 */
export function page(
  place: Pick<Page, "name" | "section"> & { summary: string },
  { version, date }: Edition,
  parts: readonly string[],
): Page {
  const { name, section, summary } = place;
  const lines = [
    // Escape hyphens in text that users type: groff turns a bare hyphen into a dash.
    `.TH ${literal(name.toUpperCase())} ${section} ${date} "svc ${literal(version)}" "svc manual"`,
    // A flag that is hyphenated at a line end cannot be searched or copied.
    ".nh",
    ".ad l",
    heading("Name"),
    `${literal(name)} \\- ${filled(summary)}`,
    ...parts,
  ];
  // A heading starts a paragraph implicitly, and linters warn about a second one.
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

/** A term in bold, followed by its description. */
export function tagged(term: string, text: string): string {
  return `.TP\n.B "${literal(term)}"\n${filled(text)}`;
}

/** Command lines to type, each on its own line. */
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

/** Literal text: every hyphen stays a hyphen. */
function literal(text: string): string {
  return escaped(text).replaceAll("-", "\\-").replaceAll('"', "\\(dq");
}

/** Prose. Words that begin with a hyphen are literal, so their hyphens are kept. */
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

/** Wraps text, so that no line looks like a roff request. */
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
