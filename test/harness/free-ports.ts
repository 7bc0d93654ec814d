import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// The system gives ports from 32768 on to connections (ip_local_port_range). A program that is started again on
// a port from there finds it taken, now and then, by a connection of any other program.
const first = 10_000;
const end = 32_768;

/** Finds unused ports that no connection of another program takes, for programs that start, and start again. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = randomInt(first, end);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
