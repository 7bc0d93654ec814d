/** One thing a reader of a page does, in the order of the page. */
export type Step = { line: number } & (
  | {
      /** Types it into a shell. `here` is false for what this machine must not or cannot do: `sh host`. */
      kind: "commands";
      text: string;
      here: boolean;
      /** A command that is refused, and shows how: `sh fails`. */
      fails: boolean;
      /** What the next block says is printed. */
      output?: string;
    }
  | {
      /** Writes a file: a block whose first line is a comment with its relative path. */
      kind: "file";
      path: string;
      text: string;
    }
  | {
      /** Waits, where the page says so: "until `master.log` says `ready`". */
      kind: "wait";
      files: string[];
      says: string;
    }
);

const fence = /^( *)```(.*)$/;
/** The name of a file, as the first line of what it holds. */
const fileName = /^# ((?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.(?:sls|yaml))(?::.*)?$/;
const waiting = /until ((?:`[^`]+`(?:, | and )?)+) says? `([^`]+)`/g;

/** What a reader of a Markdown page is told to do. */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  const lines = markdown.split("\n");
  let prose: string[] = [];
  const endProse = (line: number) => {
    for (const [, files = "", says = ""] of prose.join(" ").matchAll(waiting)) {
      steps.push({
        kind: "wait",
        line,
        says,
        files: [...files.matchAll(/`([^`]+)`/g)].map(([, f = ""]) => f),
      });
    }
    prose = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const opened = fence.exec(lines[at] ?? "");
    if (opened === null) {
      prose.push(lines[at] ?? "");
      continue;
    }
    const line = at + 1;
    const isFirstAfterCommands = prose.join("").trim() === "";
    endProse(line);
    const [, indent = "", info = ""] = opened;
    const body: string[] = [];
    for (at++; at < lines.length && (lines[at] ?? "").trim() !== "```"; at++) {
      body.push((lines[at] ?? "").replace(indent, ""));
    }
    const text = body.join("\n");
    const [language, ...marks] = info.trim().split(/\s+/);
    const previous = steps.at(-1);
    const named = fileName.exec(body[0] ?? "");
    if (language === "sh") {
      steps.push({
        kind: "commands",
        line,
        text,
        here: !marks.includes("host"),
        fails: marks.includes("fails"),
      });
    } else if (language === "text" && isFirstAfterCommands && previous?.kind === "commands") {
      previous.output = text;
    } else if (language === "yaml" && named?.[1] !== undefined) {
      steps.push({ kind: "file", line, path: named[1], text: `${text}\n` });
    }
  }
  endProse(lines.length);
  return steps;
}
