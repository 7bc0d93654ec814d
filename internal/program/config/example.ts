import { flagOf, type OptionTable, sentenceOf } from "./option.ts";
import { resolve } from "./resolve.ts";
import { nameInSection, type Section, sectionsOf } from "./section.ts";

const width = 100;

/**
 * An example of a daemon's file: every key with its default, description and value type, commented out.
 * Unchanged, it configures nothing. Uncommenting a single key is enough, also for a key in a section.
 *
 * @param dataDir takes the place of `/data` in the defaults
 */
export function formatExample(
  program: { name: string; options: OptionTable; defaultFile: string },
  dataDir: string,
): string {
  const { name, options, defaultFile } = program;
  const defaults = resolve(options, new Map(), dataDir);
  const exampleOf = (key: string, indent: string): string => {
    const declared = options[key];
    if (declared === undefined) return "";
    const flag = flagOf(key, declared);
    const notes = [`Value: ${declared.type.name}`, flag === undefined ? "no flag" : `flag --${flag}`];
    return [
      ...comment(sentenceOf(declared), indent),
      ...comment(`${notes.join("; ")}.`, indent),
      `${indent}#${nameInSection(key)}: ${declared.type.format(defaults[key])}`,
    ].join("\n");
  };
  const head = comment(
    `Example for ${defaultFile}: every setting of ${name} with its default, commented out. ` +
      `${name} --print-config shows the values in force and their origins.`,
    "",
  );
  const textOf = ({ keys, sections }: Section, indent: string): string =>
    [
      ...keys.map((key) => exampleOf(key, indent)),
      ...sections.map((inner) => `${indent}${inner.name}:\n${textOf(inner, `${indent}  `)}`),
    ].join("\n\n");
  return `${head.join("\n")}\n\n${textOf(sectionsOf(Object.keys(options)), "")}\n`;
}

function comment(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = `${indent}#`;
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > width) {
      lines.push(line);
      line = `${indent}#`;
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
