import { attempt } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";

/** Lines of a name and a digest, the newest last. */
const maxLines = 1_000;

/**
 * The facts that operators sent, by name and digest. One of them stays though its value is a secret: if it went away, the
 * operator would know that the guess was right.
 */
export function openSentFacts(file: string) {
  let lines: readonly string[] | undefined;
  const read = () => {
    lines ??= (attempt(() => readTextIfPresent(file), undefined) ?? "")
      .split("\n")
      .filter((line) => line !== "");
    return lines;
  };
  return {
    has: (name: string, value: Plain) => read().includes(lineOf(name, value)),
    /** @throws SvcError `storage` */
    add(name: string, value: Plain): void {
      const others = read().filter((line) => !line.startsWith(`${name} `));
      lines = [...others, lineOf(name, value)].slice(-maxLines);
      writeFileAtomic(file, `${lines.join("\n")}\n`, secretMode);
    },
  };
}

const lineOf = (name: string, value: Plain) => `${name} ${sha256Hex(encode(value))}`;
