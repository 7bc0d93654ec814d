/** The streams of a program, and what ends it. */
interface Program {
  stdout: Closing;
  stderr: Closing;
  /** A code that is set already wins: the result could not be written. */
  exitCode?: number | string | null | undefined;
  exit(code: number): void;
}

interface Closing {
  end(ended: () => void): unknown;
}

/**
 * Ends a program as soon as everything that it wrote has left it. Without that, a connection to a server that accepts
 * it and then says nothing keeps a command for ever: the client of the bus gives it up, and does not close it.
 */
export async function endProcess(program: Program, code: number): Promise<void> {
  // That a result cannot be written is reported on standard error. A write of nothing would not wait for a full pipe.
  for (const stream of [program.stdout, program.stderr]) {
    await new Promise<void>((resolve) => stream.end(resolve));
  }
  program.exit(Number(program.exitCode ?? code));
}
