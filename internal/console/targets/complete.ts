/** What is known of the fleet, for completion. */
export interface Known {
  /** Peel ids with dots. */
  ids: readonly string[];
  /** Values of each fact. */
  facts: ReadonlyMap<string, readonly string[]>;
  /** Values of each label. */
  labels: ReadonlyMap<string, readonly string[]>;
  /** Whether this person may choose peels by their settings; masters refuse such a target of others. */
  mayUseSettings: boolean;
}

/** How the word at the cursor can continue. */
export interface Completion {
  /** The part of the text that an option replaces. */
  from: number;
  to: number;
  options: readonly Option[];
}

export interface Option {
  text: string;
  /** What it means. */
  about: string;
  /** It is a whole matcher; otherwise the word continues. */
  whole: boolean;
}

const maxOptions = 8;
const matchers: readonly Option[] = [
  { text: "G@", about: "a fact matches a glob", whole: false },
  { text: "T@", about: "a label matches a glob", whole: false },
  { text: "E@", about: "the id matches a regular expression", whole: false },
  { text: "P@", about: "a fact matches a regular expression", whole: false },
  { text: "L@", about: "one of these ids", whole: false },
  { text: "I@", about: "a setting matches a glob", whole: false },
  { text: "N@", about: "a node group", whole: false },
];

/** Completes the word of a target expression that ends at the cursor. */
export function complete(text: string, cursor: number, known: Known): Completion {
  const before = text.slice(0, cursor);
  const from = before.length - (/[^\s()]*$/.exec(before)?.[0].length ?? 0);
  const word = before.slice(from);
  const options = optionsFor(word, before.slice(0, from), known).slice(0, maxOptions);
  return { from, to: cursor, options };
}

function optionsFor(word: string, before: string, known: Known): Option[] {
  if (endsWhole(before)) {
    const operators = ["and", "or"].filter((one) => one.startsWith(word) && one !== word);
    return operators.map((text) => ({ text, about: text === "and" ? "both" : "either", whole: true }));
  }
  const [, letter, value = ""] = /^([A-Za-z])@(.*)$/.exec(word) ?? [];
  switch (letter) {
    case "G":
      return named(word, "G@", value, known.facts, "fact");
    case "T":
      return named(word, "T@", value, known.labels, "label");
    case "L": {
      const at = value.lastIndexOf(",") + 1;
      const start = `L@${value.slice(0, at)}`;
      return startingWith(known.ids, value.slice(at)).map((id) => ({
        text: start + id,
        about: "peel",
        whole: true,
      }));
    }
    case undefined: {
      const ids = word === "" ? [] : startingWith(known.ids, word);
      return [
        ...(word === "" ? [{ text: "*", about: "every peel", whole: true }] : []),
        ...matchers.filter(
          ({ text }) => text.startsWith(word) && text !== word && (text !== "I@" || known.mayUseSettings),
        ),
        ...("not".startsWith(word) && word !== "not" && word !== ""
          ? [{ text: "not", about: "all but", whole: true }]
          : []),
        ...ids.map((text) => ({ text, about: "peel", whole: true })),
      ];
    }
    default:
      return [];
  }
}

/** Names, and behind the colon the values of that name. */
function named(
  word: string,
  start: string,
  value: string,
  all: ReadonlyMap<string, readonly string[]>,
  what: string,
): Option[] {
  const colon = value.indexOf(":");
  if (colon < 0) {
    return startingWith([...all.keys()], value).map((name) => ({
      text: `${start}${name}:`,
      about: what,
      whole: false,
    }));
  }
  const values = startingWith(all.get(value.slice(0, colon)) ?? [], value.slice(colon + 1));
  return values
    .map((one) => `${start}${value.slice(0, colon)}:${quoted(one)}`)
    .filter((text) => text !== word)
    .map((text) => ({ text, about: `value of the ${what}`, whole: true }));
}

/** Whether what stands before is a whole expression, so that an operator follows. */
const endsWhole = (before: string): boolean => {
  const last = /(\S+)\s+$/.exec(before)?.[1];
  return last !== undefined && !/^(?:and|or|not)$/.test(last) && !last.endsWith("(");
};

const startingWith = (all: readonly string[], start: string): string[] =>
  all.filter((one) => one.toLowerCase().startsWith(start.toLowerCase()) && one !== start);

const quoted = (value: string): string => {
  if (!/[\s()'"]/.test(value)) return value;
  return value.includes("'") ? `"${value}"` : `'${value}'`;
};
