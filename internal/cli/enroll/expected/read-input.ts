import { SvcError } from "../../../base/errors.ts";
import { readTextFile } from "../../../base/files/file.ts";

const maxBytes = 16 * 1024 * 1024;

/**
 * Reads a file that a command names, `-` for standard input, of at most 16 MiB.
 *
 * @throws SvcError `bad_request`
 */
export async function readInput(file: string): Promise<string> {
  const text = file === "-" ? await readStandardInput() : readTextFile(file, "the list of hosts");
  if (text.length <= maxBytes) return text;
  throw tooLarge(file);
}

async function readStandardInput(): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of Bun.stdin.stream()) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge("standard input");
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function tooLarge(file: string): SvcError {
  return new SvcError("bad_request", `${file}: larger than 16 MiB`);
}
