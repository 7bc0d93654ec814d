import { SvcError } from "../../base/errors.ts";

/** A block at the top level of a configuration of a bus server. */
export interface Block {
  /** Where it starts and ends in the text. */
  start: number;
  end: number;
  /** With its name and braces. */
  body: string;
}

/**
 * Finds a block by its name.
 *
 * @throws SvcError `bad_request` for braces that do not match
 */
export function findBlock(text: string, name: "cluster" | "leafnodes"): Block | undefined {
  const found = new RegExp(`^${name}[ \\t]*[:=]?[ \\t]*\\{`, "m").exec(text);
  if (found === null) return undefined;
  let depth = 0;
  for (const token of text.slice(found.index).matchAll(/"(?:[^"\\]|\\.)*"|#[^\n]*|[{}]/g)) {
    if (token[0] === "{") depth++;
    if (token[0] !== "}") continue;
    depth--;
    if (depth > 0) continue;
    const end = found.index + token.index + 1;
    return { start: found.index, end, body: text.slice(found.index, end) };
  }
  throw new SvcError("bad_request", `nats-server.conf: a brace of the block ${name} is not closed`);
}

/** The configuration without a block. @throws SvcError `bad_request` as `findBlock` */
export function withoutBlock(text: string, name: "cluster" | "leafnodes"): string {
  const block = findBlock(text, name);
  return block === undefined ? text : `${text.slice(0, block.start).trimEnd()}\n${text.slice(block.end)}`;
}
