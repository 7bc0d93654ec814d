/** Runs a program to its end; a failure throws what it wrote. */
export function command(...words: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(words, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${words.join(" ")}: ${stderr.toString().trim()}`);
}
