/**
 * Asks the person at the terminal a question, on standard error, as standard output is for results. The terminal
 * stays as it is, so Ctrl-C ends the program.
 *
 * @returns the line that was typed, empty at the end of input
 */
export async function promptPerson(question: string): Promise<string> {
  const { createInterface } = await import("node:readline");
  process.stderr.write(question);
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    return await new Promise<string>((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => {
        process.stderr.write("\n");
        resolve("");
      });
    });
  } finally {
    lines.removeAllListeners("close");
    lines.close();
    process.stdin.unref();
  }
}
